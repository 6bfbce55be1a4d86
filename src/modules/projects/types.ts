import type { JsonObject } from '../../kernel/json.js';

/** The project of a server that is used by one team only. Its operator runs the server. */
export const DEFAULT_PROJECT_NAME = 'default';

/** What a project decides differently from the server. */
export interface ProjectPolicies {
  readonly cooldownSeconds?: number;
}

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
