import { ok, type Result } from '../../../kernel/refusal.js';
import { escalated } from '../../guard/recovery.js';
import { tripFacts } from '../../guard/wire.js';
import type { CommandOf } from '../types.js';
import { createOne } from './create.js';
import type { Draft } from './draft.js';
import { inDependencyOrder } from './plan-order.js';
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
  if (!ordered.ok) return ordered;
  for (const part of ordered.value) {
    const planned = { ...part, parentId: task.id, runId: task.runId };
    const refused = createOne(draft, planned, { runId: task.runId, parent: task });
    if (refused !== null) return { ok: false, refusal: refused };
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
  const grave = escalated(trip);
  if (grave === null) return ok(null);
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
