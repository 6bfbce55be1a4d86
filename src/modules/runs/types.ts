import type { Assessment, Layer, OwnLimits, Trip } from '../guard/types.js';

export const RUN_STATES = ['open', 'tripped', 'closed'] as const;
export type RunState = (typeof RUN_STATES)[number];

/** `total` counts every iteration; `since_progress` starts again at each approval or first submission. */
export const ITERATION_MODES = ['total', 'since_progress'] as const;
export type IterationMode = (typeof ITERATION_MODES)[number];

/** The run of a task that names none. It never ends. */
export const DEFAULT_RUN_NAME = 'default';

/** What only decisions read of a run. */
export interface RunMemory {
  readonly warned: readonly Layer[];
  readonly trip: Trip | null;
  readonly refused: readonly string[];
  readonly changedSinceTrip: boolean;
}

/** A bounded piece of work: a set of tasks under one budget. Times in milliseconds since the epoch. */
export interface Run {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly isDefault: boolean;
  readonly state: RunState;
  readonly iterationMode: IterationMode;
  readonly iterations: number;
  readonly limits: OwnLimits;
  readonly tokensUsed: number;
  readonly costMicros: number;
  readonly deadlineAt: number | null;
  readonly openTripId: string | null;
  readonly tripCount: number;
  readonly recoverCount: number;
  /** How many of its tasks are in each state; a state without tasks may be missing. */
  readonly taskCounts: { readonly [state: string]: number };
  readonly memory: RunMemory;
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly closedAt: number | null;
}

/** What a run begins with. */
export interface RunStart {
  readonly id: string;
  readonly name: string;
  readonly limits: OwnLimits;
  readonly iterationMode: IterationMode;
  readonly deadlineAt: number | null;
  readonly isDefault?: boolean;
}

/** What a planner may change of a run. Absent: unchanged. */
export interface RunEdit {
  readonly name?: string;
  readonly deadlineAt?: number | null;
  readonly limits?: OwnLimits;
}

export const RUN_STRATEGIES = ['reset', 'adjust', 'terminate', 'escalate'] as const;

interface OnRun {
  readonly runId: string;
  /** From If-Match: refused when the run has moved on. */
  readonly version?: number;
}

/** Everything that can be asked of a run. */
export type RunCommand =
  | { readonly type: 'create_run'; readonly run: RunStart }
  | ({ readonly type: 'update_run'; readonly edit: RunEdit } & OnRun)
  | ({
      readonly type: 'recover_run';
      readonly strategy: (typeof RUN_STRATEGIES)[number];
      readonly reason: string;
      readonly assessment: Assessment | null;
      readonly changes: Pick<RunEdit, 'limits' | 'deadlineAt'>;
      readonly resetTokens: boolean;
    } & OnRun)
  | ({ readonly type: 'close_run'; readonly reason: string | null } & OnRun);

export type RunCommandType = RunCommand['type'];
export type RunCommandOf<T extends RunCommandType> = Extract<RunCommand, { type: T }>;
