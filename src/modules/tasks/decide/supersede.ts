import { toWire } from '../../../kernel/ids.js';
import type { Refusal } from '../../../kernel/refusal.js';
import { openTaskLayers } from '../../guard/evaluate.js';
import { isSlowLoop, nothingChanged, stillOverLimit } from '../../guard/recovery.js';
import { layerToWire } from '../../guard/wire.js';
import type { Counters, Task } from '../types.js';
import { cycleRefusal, reaches, waitForInstead } from './dependencies.js';
import type { Draft } from './draft.js';
import { sameList } from './edit.js';
import { isTerminal, NO_COUNTERS } from './machine.js';
import * as refusal from './refusals.js';
import { readGuard } from './settle.js';
import { end, needsOperator, tripToAnswerFor } from './stop.js';

/**
 * One task takes another's place. Nothing escapes by re-creation: totals, usage and unblocks come along, and what an unblock
 * would need is needed here too. The replaced task is cancelled; whoever waited for it waits for the new one.
 */
export function supersede(
  draft: Draft,
  oldId: string,
  created: Task,
  dependencies: readonly Task[],
): Refusal | null {
  const old = draft.task(oldId);
  if (old === null) return refusal.notFound(oldId);
  if (old.supersededBy !== null) return refusal.duplicate(draft.taskOf(old.supersededBy));
  if (old.state === 'done') return refusal.invalidTransition(old, 'cancel');
  const circular = dependencies.filter(({ id }) => reaches(draft, id, oldId)).map(({ id }) => id);
  if (circular.length > 0) return cycleRefusal(circular);
  const refused = recoveryRefusal(draft, old, created);
  if (refused !== null) return refused;
  const next = draft.put({
    ...created,
    counters: carried(old),
    memory: { ...created.memory, workers: old.memory.workers, excluded: old.memory.excluded },
  });
  const over = openTaskLayers(readGuard(draft, next));
  if (tripToAnswerFor(old) !== null && over.length > 0) return stillOverLimit(over.map(layerToWire));
  waitForInstead(draft, oldId, created.id);
  draft.put({ ...draft.taskOf(oldId), supersededBy: created.id });
  if (!isTerminal(old.state)) end(draft, draft.taskOf(oldId), `superseded by ${toWire('task', created.id)}`);
  return null;
}

/** What forbids to unblock a task forbids to replace it as well, also when it was given up in between. */
function recoveryRefusal(draft: Draft, old: Task, created: Task): Refusal | null {
  if (draft.context.actor.roles.includes('operator')) return null;
  if (needsOperator(draft, old, tripToAnswerFor(old))) return refusal.escalationRequired(old);
  const { maxUnblocks: maxRecoveries } = draft.limitsOf(old);
  if (draft.limitsOf(created).maxUnblocks > maxRecoveries) return refusal.operatorsLimit();
  const recovery = {
    trip: tripToAnswerFor(old),
    recoveries: old.counters.unblockCount,
    maxRecoveries,
    changed: old.memory.changedSinceTrip || !sameWork(old, created),
    byOperator: false,
  };
  return isSlowLoop(recovery) ? nothingChanged() : null;
}

function carried(old: Task): Counters {
  const { counters } = old;
  return {
    ...NO_COUNTERS,
    reworkTotal: counters.reworkTotal,
    errorTotal: counters.errorTotal,
    tokensUsed: counters.tokensUsed,
    costMicros: counters.costMicros,
    tokens: counters.tokens,
    unblockCount: counters.unblockCount + (tripToAnswerFor(old) === null ? 0 : 1),
    tripCount: counters.tripCount,
  };
}

function sameWork(a: Task, b: Task): boolean {
  return (
    a.description === b.description &&
    sameList(a.acceptance, b.acceptance) &&
    JSON.stringify(a.limits) === JSON.stringify(b.limits)
  );
}
