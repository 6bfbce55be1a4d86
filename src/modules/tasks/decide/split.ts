import { ok, type Result } from '../../../kernel/refusal.js';
import { actionFor } from '../../guard/evaluate.js';
import type { Trip } from '../../guard/types.js';
import { tripFacts } from '../../guard/wire.js';
import type { CommandOf } from '../types.js';
import { createOne, inDependencyOrder } from './create.js';
import { cycleRefusal } from './dependencies.js';
import type { Draft } from './draft.js';
import { invalidTransition } from './refusals.js';
import { unblock } from './unblock.js';

/**
 * Recovers a blocked task by taking it apart: its parts are created under it, and it waits for them before it goes on. It is an
 * unblock with the parts as its change, and obeys the same rules; the parts carry its history, so that nothing starts afresh.
 */
export function split(draft: Draft, command: CommandOf<'split'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  if (task.state !== 'blocked') return { ok: false, refusal: invalidTransition(task, 'split') };
  const ordered = inDependencyOrder(command.tasks);
  if (ordered === null) return { ok: false, refusal: cycleRefusal(command.tasks.map(({ id }) => id)) };
  for (const part of ordered) {
    const refused = createOne(draft, { ...part, parentId: task.id, runId: task.runId }, null);
    if (refused !== null) return { ok: false, refusal: refused };
    const created = draft.taskOf(part.id);
    const { reworkTotal, errorTotal, unblockCount, tripCount } = task.counters;
    draft.put({
      ...created,
      counters: { ...created.counters, reworkTotal, errorTotal, unblockCount: unblockCount + 1, tripCount },
    });
  }
  const dependsOn = [...task.dependsOn, ...command.tasks.map(({ id }) => id)];
  const { taskId, reason, assessment, resetTokens, changes } = command;
  return unblock(
    draft,
    {
      type: 'unblock',
      taskId,
      reason,
      assessment,
      resetTokens,
      to: 'pending',
      changes: { ...changes, dependsOn },
    },
    'split',
  );
}

/** Hands an open trip to an operator, whatever its severity. */
export function escalate(draft: Draft, command: CommandOf<'escalate'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  const { trip } = task.memory;
  if (trip === null || trip.state !== 'open')
    return { ok: false, refusal: invalidTransition(task, 'escalate') };
  if (trip.severity === 'HIGH') return ok(null);
  const grave: Trip = { ...trip, severity: 'HIGH', actionRequired: actionFor('HIGH') };
  draft.put({ ...task, memory: { ...task.memory, trip: grave, autoRecoverAt: null } });
  draft.trips.set(grave.id, grave);
  draft.emit('trip.escalated', task.id, {
    from: task.state,
    to: task.state,
    reason: command.reason,
    data: tripFacts(grave),
  });
  return ok(null);
}
