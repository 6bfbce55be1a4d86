import type { Run, RunEdit, RunStart } from './types.js';

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

/** The run as an edit makes it. Limits given are laid over those it has. */
export function edited(run: Run, edit: RunEdit): Run {
  return {
    ...run,
    name: edit.name ?? run.name,
    deadlineAt: edit.deadlineAt === undefined ? run.deadlineAt : edit.deadlineAt,
    limits: edit.limits === undefined ? run.limits : { ...run.limits, ...edit.limits },
  };
}

/** The wire names of what an edit really changed. */
export function changedRunFields(before: Run, after: Run): string[] {
  const changed: string[] = [];
  if (before.name !== after.name) changed.push('name');
  if (before.deadlineAt !== after.deadlineAt) changed.push('deadline_at');
  if (JSON.stringify(before.limits) !== JSON.stringify(after.limits)) changed.push('limits');
  return changed;
}
