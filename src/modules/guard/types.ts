import type { JsonObject } from '../../kernel/json.js';

/** Every limit, highest priority first: when several are crossed at once, the first names the trip. */
export const LAYERS = [
  'deadline',
  'iteration',
  'run_tokens',
  'run_cost',
  'token',
  'cost',
  'error',
  'rework',
  'review',
  'attempt',
] as const;
export type Layer = (typeof LAYERS)[number];

/** The layers that watch one task. The others watch its run. */
export const TASK_LAYERS = [
  'token',
  'cost',
  'error',
  'rework',
  'review',
  'attempt',
] as const satisfies readonly Layer[];

export const RUN_LAYERS = [
  'deadline',
  'iteration',
  'run_tokens',
  'run_cost',
] as const satisfies readonly Layer[];

/** Limits of a task. Null lifts an optional one. Costs in millionths of a US dollar, durations in seconds. */
export interface TaskLimits {
  readonly maxReworks: number;
  readonly maxErrors: number;
  readonly maxTokens: number;
  readonly maxCostMicros: number | null;
  readonly maxReviewFailures: number;
  readonly maxAttempts: number;
  readonly maxUnblocks: number;
  readonly reassignAfter: number;
  readonly maxAttemptSeconds: number;
}

/** Budgets of a run. */
export interface RunLimits {
  readonly maxIterations: number;
  readonly maxRunTokens: number | null;
  readonly maxRunCostMicros: number | null;
}

/** What a task, run or project sets of its own; what it leaves out comes from the next one up. */
export type OwnTaskLimits = Partial<TaskLimits>;
export type OwnLimits = Partial<TaskLimits & RunLimits>;

/** The counters that task layers read. */
export interface TaskCounters {
  readonly reworkCount: number;
  readonly reworkTotal: number;
  readonly errorCount: number;
  readonly errorTotal: number;
  readonly reviewFailures: number;
  readonly attemptsSinceUnblock: number;
  /** Input + output + cache writes; a re-read cache is not new work. */
  readonly tokensUsed: number;
  readonly costMicros: number;
}

/** The counters that run layers read. */
export interface RunCounters {
  readonly iterations: number;
  readonly tokensUsed: number;
  readonly costMicros: number;
  /** Milliseconds since the epoch, or null for a run without end. */
  readonly deadlineAt: number | null;
}

export const LAYER_STATES = ['closed', 'open'] as const;
export type LayerState = (typeof LAYER_STATES)[number];

/** One layer's reading. */
export interface LayerReading {
  readonly kind: Layer;
  readonly value: number;
  readonly limit: number;
  readonly state: LayerState;
  /** The value is over the warning line. */
  readonly warned: boolean;
}

export const VERDICTS = ['allow', 'warn', 'deny'] as const;

/** What the guard says: every layer that has a limit, by priority. */
export interface Verdict {
  readonly verdict: (typeof VERDICTS)[number];
  readonly layers: readonly LayerReading[];
}

export const SEVERITIES = ['LOW', 'MEDIUM', 'HIGH'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const ACTIONS = ['AUTOMATIC_RECOVERY', 'BLOCKER_ESCALATION'] as const;
export type ActionRequired = (typeof ACTIONS)[number];

export const TRIP_STATES = ['open', 'half_open', 'closed'] as const;
export type TripState = (typeof TRIP_STATES)[number];

export const TRIP_SCOPES = ['task', 'run', 'fleet', 'skill'] as const;
export type TripScope = (typeof TRIP_SCOPES)[number];

/** What a trip can be of: a limit of a task or run, or a breaker above them. */
export const TRIP_KINDS = [...LAYERS, 'fleet', 'agent'] as const;
export type TripKind = (typeof TRIP_KINDS)[number];

/** The incident that an open breaker is. */
export interface Trip {
  readonly id: string;
  readonly scope: TripScope;
  readonly kind: TripKind;
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly value: number;
  readonly limit: number;
  readonly overPercent: number;
  readonly severity: Severity;
  readonly actionRequired: ActionRequired;
  readonly state: TripState;
  /** Every layer as it stood when the trip opened. */
  readonly layers: readonly LayerReading[];
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly closedAt: number | null;
  readonly resolution: Resolution | null;
}

export const STRATEGIES = ['reset', 'adjust', 'split', 'terminate', 'escalate'] as const;
export type Strategy = (typeof STRATEGIES)[number];

export const ASSESSMENTS = [
  'unclear_description',
  'acceptance_too_high',
  'wrong_approach',
  'wrong_agent',
  'budget_too_small',
  'transient',
  'other',
] as const;
export type Assessment = (typeof ASSESSMENTS)[number];

/** How a trip ended. */
export interface Resolution {
  readonly strategy: Strategy;
  readonly assessment: Assessment | null;
  readonly reason: string;
  readonly changes: JsonObject;
  readonly by: { readonly agentId: string | null; readonly role: string };
}

export const BREAKER_SCOPES = ['fleet', 'agent'] as const;
export const BREAKER_STATES = ['closed', 'open', 'half_open', 'isolated'] as const;
export type BreakerState = (typeof BREAKER_STATES)[number];

/** One failure, as the fleet's breaker remembers it. */
export interface Failure {
  readonly fingerprint: string;
  readonly taskId: string;
  readonly agentId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A breaker above tasks: the fleet's, one a project, or one agent's. Times in milliseconds since the epoch. */
export interface Breaker {
  readonly id: string;
  readonly scope: (typeof BREAKER_SCOPES)[number];
  readonly agentId: string | null;
  /** As stored; `stateOf` says how it stands now. */
  readonly state: Exclude<BreakerState, 'half_open'>;
  /** What the failures that opened it have in common. */
  readonly fingerprint: string | null;
  readonly openedAt: number | null;
  /** From when one probe may pass. */
  readonly halfOpenAt: number | null;
  /** How often it opened in a row. */
  readonly openings: number;
  /** The one attempt that is let through while it is half-open. */
  readonly probe: { readonly taskId: string; readonly attempt: number } | null;
  readonly failures: readonly Failure[];
  /** The incident, while it is not closed. */
  readonly trip: Trip | null;
  readonly reason: string | null;
  readonly updatedAt: number;
}

/** What an operator may do with a breaker. */
export type BreakerCommand =
  | { readonly type: 'isolate_breaker'; readonly breakerId: string; readonly reason: string }
  | { readonly type: 'close_breaker'; readonly breakerId: string; readonly reason: string };
export const BREAKER_COMMAND_TYPES: readonly BreakerCommand['type'][] = ['isolate_breaker', 'close_breaker'];
