import type { Resolution, Trip } from '../../guard/types.js';
import { tripFacts } from '../../guard/wire.js';
import type { Draft } from './draft.js';

/** Closes a task's or a run's trip and says how it ended. */
export function closeTrip(
  draft: Draft,
  trip: Trip,
  how: Pick<Resolution, 'strategy' | 'reason'> & Partial<Resolution>,
): void {
  const { now, actor } = draft.context;
  const role = actor.roles.includes('operator') ? 'operator' : actor.agentId === null ? 'server' : 'planner';
  const resolution: Resolution = {
    assessment: null,
    changes: {},
    by: { agentId: actor.agentId, role },
    ...how,
  };
  const closed: Trip = { ...trip, state: 'closed', closedAt: now, resolution };
  draft.trips.set(closed.id, closed);
  const { strategy, assessment, changes } = resolution;
  const data = { ...tripFacts(closed), strategy, assessment, changes };
  if (trip.taskId !== null) draft.emit('trip.resolved', trip.taskId, { reason: how.reason, data });
  else if (trip.runId !== null)
    draft.emitOfRun('trip.resolved', draft.runById(trip.runId), { reason: how.reason, data });
  else draft.emitOfProject('trip.resolved', { reason: how.reason, data });
}
