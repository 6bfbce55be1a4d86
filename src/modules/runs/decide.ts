import type { OwnLimits } from '../guard/types.js';
import type { IterationMode, Run } from './types.js';

/** What a run begins with. */
export interface RunStart {
  readonly id: string;
  readonly name: string;
  readonly limits: OwnLimits;
  readonly iterationMode: IterationMode;
  readonly deadlineAt: number | null;
  readonly isDefault?: boolean;
}

/** A run as it begins. */
export function newRun(start: RunStart, projectId: string, now: number): Run {
  return {
    id: start.id,
    projectId,
    name: start.name,
    isDefault: start.isDefault ?? false,
    state: 'open',
    iterationMode: start.iterationMode,
    iterations: 0,
    limits: start.limits,
    tokensUsed: 0,
    costMicros: 0,
    deadlineAt: start.deadlineAt,
    openTripId: null,
    tripCount: 0,
    recoverCount: 0,
    taskCounts: {},
    memory: { warned: [], trip: null, refused: [], changedSinceTrip: false },
    version: 1,
    createdAt: now,
    updatedAt: now,
    closedAt: null,
  };
}
