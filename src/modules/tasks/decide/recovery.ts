import { openTaskLayers } from '../../guard/evaluate.js';
import type { Trip } from '../../guard/types.js';
import type { Task } from '../types.js';
import { closeTrip } from './closing.js';
import type { Draft } from './draft.js';
import { returned } from './machine.js';
import { readGuard } from './settle.js';

/** The server returns a task that tripped on errors for one probe attempt, with one error left before its limit. */
export function autoRecover(draft: Draft, task: Task): void {
  const { now } = draft.context;
  const { trip } = task.memory;
  if (task.state !== 'blocked' || trip === null) return;
  const probing: Trip = { ...trip, state: 'half_open' };
  const errorsLeft = Math.max(0, draft.limitsOf(task).maxErrors - 1);
  const back = returned(task, now);
  const counters = { ...task.counters, errorCount: Math.min(task.counters.errorCount, errorsLeft) };
  // What else is over its limit waits for a planner, as it would without the errors.
  if (openTaskLayers(readGuard(draft, { ...back, counters })).length > 0) {
    draft.putQuietly({ ...task, memory: { ...task.memory, autoRecoverAt: null } });
    return;
  }
  draft.put({
    ...back,
    block: null,
    counters,
    memory: {
      ...task.memory,
      trip: probing,
      autoRecoverAt: null,
      autoRecoveries: task.memory.autoRecoveries + 1,
    },
  });
  draft.trips.set(probing.id, probing);
  draft.emit('task.auto_recovered', task.id, {
    from: 'blocked',
    to: back.state,
    reason: 'the cooldown is over: one probe attempt',
    data: { kind: trip.kind, recoveries: task.memory.autoRecoveries + 1 },
  });
}

/** A submission is the success of a probe: the trip closes, and the errors that opened it are over. */
export function endProbe(draft: Draft, taskId: string): void {
  const task = draft.taskOf(taskId);
  const { trip } = task.memory;
  if (trip === null || trip.state !== 'half_open') return;
  draft.put({
    ...task,
    counters: { ...task.counters, errorCount: 0 },
    memory: { ...task.memory, trip: null, changedSinceTrip: false },
  });
  closeTrip(draft, trip, {
    strategy: 'reset',
    reason: 'the probe attempt handed in a result',
    by: { agentId: null, role: 'server' },
  });
}
