import { toWire } from '../../../kernel/ids.js';
import type { JsonObject } from '../../../kernel/json.js';
import { ok, type Refusal, type Result, refuse } from '../../../kernel/refusal.js';
import { openTaskLayers } from '../../guard/evaluate.js';
import { isSlowLoop, nothingChanged, stillOverLimit } from '../../guard/recovery.js';
import type { Strategy, TaskLimits } from '../../guard/types.js';
import { layerToWire, ownLimitsToWire } from '../../guard/wire.js';
import type { CommandOf, Task, UnblockChanges } from '../types.js';
import { closeTrip } from './closing.js';
import { blockForDependency, givenUp, standIns, waitNoLonger } from './dependencies.js';
import type { Draft } from './draft.js';
import { applyEdit, changedFields } from './edit.js';
import { readyFrom } from './machine.js';
import { endProbe } from './recovery.js';
import * as refusal from './refusals.js';
import { readGuard, settle } from './settle.js';
import { blockingTrip, needsOperator } from './stop.js';

/**
 * Lifts a block: a form, not a button. After a trip the task's counters start again and its totals stay; from the second
 * time on something must have changed; after `max_unblocks` only an operator may. Source: domain, "Recovery".
 */
export function unblock(draft: Draft, command: CommandOf<'unblock'>, as?: Strategy): Result<null> {
  const task = draft.taskOf(command.taskId);
  const operator = draft.context.actor.roles.includes('operator');
  if (task.state !== 'blocked') return { ok: false, refusal: refusal.invalidTransition(task, 'unblock') };
  const trip = blockingTrip(task);
  if (!operator && needsOperator(draft, task, trip))
    return { ok: false, refusal: refusal.escalationRequired(task) };
  if (!operator && command.changes.limits?.maxUnblocks !== undefined)
    return { ok: false, refusal: refusal.operatorsLimit() };
  if (command.to === 'in_review' && (task.memory.last?.hasResult !== true || task.memory.last.judged)) {
    return { ok: false, refusal: nothingToReview(task) };
  }
  const changed = withChanges(draft, task, command.changes);
  if (!changed.ok) return changed;
  const fields = [...changedFields(task, changed.value), ...handsChanged(task, command.changes)];
  const recovery = {
    trip,
    recoveries: task.counters.unblockCount,
    maxRecoveries: draft.limitsOf(task).maxUnblocks,
    changed: task.memory.changedSinceTrip || fields.length > 0,
    byOperator: operator,
  };
  if (isSlowLoop(recovery)) return { ok: false, refusal: nothingChanged() };
  const lifted = lift(draft, changed.value, command, trip !== null);
  const next = draft.put(lifted);
  const over = openTaskLayers(readGuard(draft, next));
  if (over.length > 0) return { ok: false, refusal: stillOverLimit(over.map(layerToWire)) };
  const changes = changesToWire(command);
  if (trip !== null) {
    const strategy = as ?? (recovery.changed ? 'adjust' : 'reset');
    closeTrip(draft, trip, {
      strategy,
      reason: command.reason,
      assessment: command.assessment,
      changes,
    });
  }
  draft.emit('task.unblocked', task.id, {
    from: 'blocked',
    to: command.to,
    reason: command.reason,
    data: { assessment: command.assessment, changes, changed: fields, was: task.block?.kind ?? null },
  });
  if (command.to === 'in_review') endProbe(draft, task.id);
  settle(draft, task.id);
  const settled = draft.taskOf(task.id);
  blockForDependency(draft, settled, givenUp(draft, settled.dependsOn));
  return ok(null);
}

function lift(draft: Draft, task: Task, command: CommandOf<'unblock'>, afterTrip: boolean): Task {
  const { now } = draft.context;
  const { counters, memory } = task;
  const goesOn = task.block?.kind === 'dependency' || command.to === 'in_review';
  const waived = goesOn ? withoutCancelled(draft, task) : task;
  const lifted: Task = {
    ...waived,
    state: command.to,
    block: null,
    claimedBy: null,
    readyAt: readyFrom(task, now),
    memory: { ...memory, blockedByOperator: false },
  };
  const cleared = command.resetTokens ? { ...counters, tokensUsed: 0 } : counters;
  if (!afterTrip) return { ...lifted, counters: cleared };
  return {
    ...lifted,
    counters: {
      ...cleared,
      reworkCount: 0,
      errorCount: 0,
      reviewFailures: 0,
      attemptsSinceUnblock: 0,
      unblockCount: counters.unblockCount + 1,
    },
    memory: {
      ...lifted.memory,
      trip: null,
      changedSinceTrip: false,
      sentBack: {},
      autoRecoverAt: null,
      autoRecoveries: 0,
      fatalBy: [],
      refused: [],
      warned: stillWarned(draft, task, command),
    },
  };
}

/** A warning is armed again when its counter starts again or its limit rises. */
function stillWarned(draft: Draft, task: Task, command: CommandOf<'unblock'>): Task['memory']['warned'] {
  const before = draft.context.view.task(task.id);
  const raised = (name: keyof TaskLimits) =>
    before !== null && draft.limitsOf(before)[name] !== draft.limitsOf(task)[name];
  return task.memory.warned.filter(
    (kind) =>
      (kind === 'token' && !command.resetTokens && !raised('maxTokens')) ||
      (kind === 'cost' && !raised('maxCostMicros')),
  );
}

/** Whoever unblocks a task because its dependency was cancelled, or has its result judged, goes on without that one. */
function withoutCancelled(draft: Draft, task: Task): Task {
  const standsFor = (id: string): Task | null => {
    const found = standIns(draft, [id]);
    return 'tasks' in found ? (found.tasks[0] ?? null) : null;
  };
  const dependsOn = task.dependsOn.filter((id) => {
    const dependency = standsFor(id);
    if (dependency?.state !== 'cancelled') return dependency !== null;
    waitNoLonger(draft, task.id, dependency.id);
    return false;
  });
  const found = standIns(draft, dependsOn);
  const unmet = 'tasks' in found ? found.tasks.filter((dependency) => dependency.state !== 'done').length : 0;
  return { ...task, dependsOn, unmet };
}

function withChanges(draft: Draft, task: Task, changes: UnblockChanges): Result<Task> {
  const { excludedAgentId, assignedAgentId, ...edit } = changes;
  if (excludedAgentId !== undefined && excludedAgentId === assignedAgentId) return bothWays();
  for (const id of [excludedAgentId, assignedAgentId]) {
    if (id !== undefined && draft.context.view.agent(id) === null)
      return { ok: false, refusal: missingAgent(id) };
  }
  const edited = applyEdit(draft, task, edit);
  if (!edited.ok) return edited;
  const { memory } = edited.value;
  const excluded = memory.excluded.filter((id) => id !== assignedAgentId);
  return ok({
    ...edited.value,
    memory: {
      ...memory,
      excluded:
        excludedAgentId === undefined || excluded.includes(excludedAgentId)
          ? excluded
          : [...excluded, excludedAgentId],
      assigned: assignedAgentId ?? (memory.assigned === excludedAgentId ? null : memory.assigned),
    },
  });
}

function handsChanged(task: Task, changes: UnblockChanges): string[] {
  const { excluded, assigned } = task.memory;
  const fields: string[] = [];
  if (changes.excludedAgentId !== undefined && !excluded.includes(changes.excludedAgentId))
    fields.push('excluded_agent_id');
  if (changes.assignedAgentId !== undefined && changes.assignedAgentId !== assigned)
    fields.push('assigned_agent_id');
  return fields;
}

function changesToWire(command: CommandOf<'unblock'>): JsonObject {
  const { changes } = command;
  return {
    ...(changes.description === undefined ? {} : { description: changes.description }),
    ...(changes.acceptance === undefined ? {} : { acceptance: [...changes.acceptance] }),
    ...(changes.limits === undefined ? {} : { limits: ownLimitsToWire(changes.limits) }),
    ...(changes.dependsOn === undefined
      ? {}
      : { depends_on: changes.dependsOn.map((id) => toWire('task', id)) }),
    ...(changes.excludedAgentId === undefined
      ? {}
      : { excluded_agent_id: toWire('agent', changes.excludedAgentId) }),
    ...(changes.assignedAgentId === undefined
      ? {}
      : { assigned_agent_id: toWire('agent', changes.assignedAgentId) }),
    ...(command.resetTokens ? { reset_tokens: true } : {}),
  };
}

function nothingToReview(task: Task): Refusal {
  return {
    ...refusal.invalidTransition(task, 'unblock'),
    detail:
      'The task can go straight to review only when its last attempt has a result and no verdict. Unblock it to pending.',
  };
}

function bothWays(): Result<never> {
  const detail = 'One agent cannot be both excluded from a task and the only one to work on it.';
  return refuse('invalid_request', detail, {
    errors: [{ pointer: '/changes/assigned_agent_id', detail, code: 'invalid' }],
  });
}

function missingAgent(id: string): Refusal {
  return {
    code: 'not_found',
    detail: `There is no agent ${toWire('agent', id)} in this project. List them with GET /v1/agents.`,
  };
}
