import type { JsonObject } from '../../kernel/json.js';

/** The project of a server that is used by one team only. Its operator runs the server. */
export const DEFAULT_PROJECT_NAME = 'default';

/** Whether a tripped task comes back by itself for one probe, or waits for a planner. */
export const RECOVERY_MODES = ['auto', 'manual'] as const;
export type RecoveryMode = (typeof RECOVERY_MODES)[number];

/** How breakers and recoveries behave. Durations in seconds. */
export interface Policies {
  /** So many tasks failed with one fingerprint open the fleet's breaker. */
  readonly fleetThreshold: number;
  readonly fleetWindowSeconds: number;
  /** How long an open breaker, or a tripped task, rests before its probe. */
  readonly cooldownSeconds: number;
  /** How often a task's error trips recover by themselves before they wait for a planner. */
  readonly maxAutoRecoveries: number;
  readonly errorRecovery: RecoveryMode;
}

/** What a project decides differently from the server. */
export type ProjectPolicies = Partial<Policies>;

/** The tenant. Times in milliseconds since the epoch. */
export interface Project {
  readonly id: string;
  readonly name: string;
  readonly isDefault: boolean;
  /** As stored: what is a limit is known to the guard. */
  readonly limits: JsonObject;
  readonly policies: ProjectPolicies;
  readonly version: number;
  readonly createdAt: number;
}
