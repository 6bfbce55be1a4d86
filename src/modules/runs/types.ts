import type { Layer, OwnLimits, Trip } from '../guard/types.js';

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
