import type { Trip } from '../../guard/types.js';
import type { Task } from '../types.js';
import { closeTrip } from './closing.js';
import type { Draft } from './draft.js';
import { returned } from './machine.js';

/**
 * When a trip that is just opening will recover by itself: errors of MEDIUM severity, so many times, unless the project wants a
 * planner to look. Null for every other trip. Source: domain, "Recovery".
 */
export function autoRecoverAt(
  draft: Draft,
  task: Task,
  trip: Pick<Trip, 'kind' | 'severity'>,
): number | null {
  const { now, policies } = draft.context;
  if (trip.kind !== 'error' || trip.severity !== 'MEDIUM' || policies.errorRecovery === 'manual') return null;
  return task.memory.autoRecoveries < policies.maxAutoRecoveries
    ? now + policies.cooldownSeconds * 1000
    : null;
}

/** The server returns a task that tripped on errors for one probe attempt, with one error left before its limit. */
export function autoRecover(draft: Draft, task: Task): void {
  const { now } = draft.context;
  const { trip } = task.memory;
  if (task.state !== 'blocked' || trip === null) return;
  const probing: Trip = { ...trip, state: 'half_open' };
  const errorsLeft = Math.max(0, draft.limitsOf(task).maxErrors - 1);
  const back = returned(task, now);
  draft.put({
    ...back,
    block: null,
    counters: { ...task.counters, errorCount: Math.min(task.counters.errorCount, errorsLeft) },
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
