import { toWire } from '../../../kernel/ids.js';
import type { JsonObject } from '../../../kernel/json.js';
import { ok, type Refusal, type Result } from '../../../kernel/refusal.js';
import { openTaskLayers } from '../../guard/evaluate.js';
import { isSlowLoop, mustEscalate, nothingChanged, stillOverLimit } from '../../guard/recovery.js';
import { layerToWire, ownLimitsToWire } from '../../guard/wire.js';
import { newRun } from '../../runs/decide.js';
import type { RunStart } from '../../runs/types.js';
import type { CommandOf, Counters, NewTask, Task, TaskEdit, TaskMemory } from '../types.js';
import { closeTrip } from './closing.js';
import { blockDependants, cycleRefusal, missingDependency, standIns, waitFor } from './dependencies.js';
import type { Draft } from './draft.js';
import { isTerminal, stopWork } from './machine.js';
import * as refusal from './refusals.js';
import { missingRun } from './runs.js';
import { readGuard, settle } from './settle.js';

const NO_COUNTERS: Counters = {
  reworkCount: 0,
  reworkTotal: 0,
  errorCount: 0,
  errorTotal: 0,
  reviewFailures: 0,
  attemptsSinceUnblock: 0,
  tokensUsed: 0,
  costMicros: 0,
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  unblockCount: 0,
  tripCount: 0,
};

const NO_MEMORY: TaskMemory = {
  last: null,
  workers: [],
  excluded: [],
  assigned: null,
  sentBack: {},
  warned: [],
  refused: [],
  trip: null,
  changedSinceTrip: false,
  blockedByOperator: false,
  submitted: false,
  fatalBy: [],
};

/** Creates one task or a whole plan: all of it, or nothing. */
export function create(draft: Draft, command: CommandOf<'create'>): Result<readonly string[]> {
  if (command.run !== null) createRun(draft, command.run);
  const ordered = inDependencyOrder(command.tasks);
  if (ordered === null) return { ok: false, refusal: cycleRefusal([]) };
  for (const task of ordered) {
    const refused = createOne(draft, task, command.run?.id ?? null);
    if (refused !== null) return { ok: false, refusal: refused };
  }
  return ok(command.tasks.map((task) => task.id));
}

function createRun(draft: Draft, planned: RunStart): void {
  const { now, actor } = draft.context;
  const run = draft.putRun(newRun(planned, actor.projectId, now));
  draft.emitOfRun('run.created', run, { data: { name: run.name, limits: ownLimitsToWire(run.limits) } });
}

/** Tasks of a plan so that each comes after those of the plan it depends on; null when they form a circle. */
function inDependencyOrder(tasks: readonly NewTask[]): NewTask[] | null {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const waiting = new Map(
    tasks.map((task) => [task.id, new Set(task.dependsOn.filter((id) => byId.has(id)))]),
  );
  const unlocks = new Map<string, string[]>();
  for (const [id, needs] of waiting)
    for (const need of needs) unlocks.set(need, [...(unlocks.get(need) ?? []), id]);
  const ready = tasks.filter((task) => waiting.get(task.id)?.size === 0);
  const ordered: NewTask[] = [];
  for (let task = ready.shift(); task !== undefined; task = ready.shift()) {
    ordered.push(task);
    for (const id of unlocks.get(task.id) ?? []) {
      const needs = waiting.get(id);
      needs?.delete(task.id);
      const next = byId.get(id);
      if (needs?.size === 0 && next !== undefined) ready.push(next);
    }
  }
  return ordered.length === tasks.length ? ordered : null;
}

function createOne(draft: Draft, planned: NewTask, planRunId: string | null): Refusal | null {
  const { now, actor, view } = draft.context;
  const runId = planned.runId ?? planRunId ?? view.defaultRun().id;
  const run = draft.runs.get(runId) ?? view.run(runId);
  if (run === null) return missingRun(runId);
  if (run.state === 'closed') return refusal.runClosed(run);
  if (planned.parentId !== null && draft.task(planned.parentId) === null)
    return refusal.notFound(planned.parentId);
  const dependencies = standIns(draft, planned.dependsOn);
  if ('missing' in dependencies) return missingDependency(dependencies.missing);
  const holder = holderOfDedupeKey(draft, planned.dedupeKey);
  if (holder !== null && holder.id !== planned.supersedes) return duplicate(holder);

  const fresh: Task = {
    id: planned.id,
    projectId: actor.projectId,
    runId,
    parentId: planned.parentId,
    supersedes: planned.supersedes,
    supersededBy: null,
    dedupeKey: planned.dedupeKey,
    title: planned.title,
    description: planned.description,
    acceptance: planned.acceptance,
    priority: planned.priority,
    labels: planned.labels,
    dependsOn: [...new Set(planned.dependsOn)],
    unmet: 0,
    hasDependants: false,
    limits: planned.limits,
    notBefore: planned.notBefore,
    state: 'pending',
    readyAt: Math.max(now, planned.notBefore ?? now),
    block: null,
    claimedBy: null,
    lease: null,
    leaseToken: 0,
    attempt: 0,
    counters: NO_COUNTERS,
    eventNumber: 0,
    memory: NO_MEMORY,
    feedback: null,
    version: 1,
    createdAt: now,
    updatedAt: now,
    finishedAt: null,
  };
  const created = draft.add(fresh);
  if (planned.supersedes !== null) {
    const refused = supersede(draft, planned.supersedes, created);
    if (refused !== null) return refused;
  }
  const unmet = waitFor(draft, created.id, dependencies.tasks);
  const cancelled = dependencies.tasks.find((task) => task.state === 'cancelled');
  const blocked =
    cancelled === undefined
      ? null
      : {
          kind: 'dependency' as const,
          reason: `it depends on ${toWire('task', cancelled.id)}, which was cancelled`,
        };
  draft.put({
    ...draft.taskOf(created.id),
    unmet,
    state: blocked === null ? 'pending' : 'blocked',
    block: blocked,
  });
  draft.emit('task.created', created.id, {
    to: blocked === null ? 'pending' : 'blocked',
    data: createdFacts(draft.taskOf(created.id)),
  });
  settle(draft, created.id);
  return null;
}

function createdFacts(task: Task): JsonObject {
  return {
    title: task.title,
    priority: task.priority,
    run_id: toWire('run', task.runId),
    limits: ownLimitsToWire(task.limits),
    depends_on: task.dependsOn.map((id) => toWire('task', id)),
    supersedes: task.supersedes === null ? null : toWire('task', task.supersedes),
  };
}

function holderOfDedupeKey(draft: Draft, key: string | null): Task | null {
  if (key === null) return null;
  for (const task of draft.tasks.values()) {
    if (task.dedupeKey === key && task.state !== 'done' && task.supersededBy === null) return task;
  }
  const holder = draft.context.view.dedupeHolder(key);
  return holder !== null && draft.taskOf(holder.id).supersededBy === null ? holder : null;
}

function duplicate(holder: Task): Refusal {
  return {
    code: 'duplicate',
    detail: `${toWire('task', holder.id)} holds this dedupe_key and is ${holder.state}. Work with that task, or name it in supersedes to replace it.`,
    facts: { task_id: toWire('task', holder.id), state: holder.state },
    nextActions: [{ call: 'get_task', on: { kind: 'task', id: holder.id } }],
  };
}

/**
 * One task takes another's place. Nothing escapes by re-creation: totals, usage and unblocks come along, and what an unblock
 * would need is needed here too. The replaced task is cancelled; whoever waited for it waits for the new one.
 */
function supersede(draft: Draft, oldId: string, created: Task): Refusal | null {
  const old = draft.task(oldId);
  if (old === null) return refusal.notFound(oldId);
  if (old.supersededBy !== null) return duplicate(draft.taskOf(old.supersededBy));
  if (old.state === 'done') return refusal.invalidTransition(old, 'cancel');
  const { trip } = old.memory;
  const operator = draft.context.actor.roles.includes('operator');
  const { counters } = old;
  if (!operator && needsOperator(draft, old)) return refusal.escalationRequired(old);
  const changed = old.memory.changedSinceTrip || !sameWork(old, created);
  const recovery = {
    trip,
    recoveries: counters.unblockCount,
    maxRecoveries: draft.limitsOf(old).maxUnblocks,
  };
  if (isSlowLoop({ ...recovery, changed, byOperator: operator })) return nothingChanged();
  const carried: Counters = {
    ...NO_COUNTERS,
    reworkTotal: counters.reworkTotal,
    errorTotal: counters.errorTotal,
    tokensUsed: counters.tokensUsed,
    costMicros: counters.costMicros,
    tokens: counters.tokens,
    unblockCount: counters.unblockCount + (trip === null ? 0 : 1),
    tripCount: counters.tripCount,
  };
  const next = draft.put({
    ...created,
    counters: carried,
    hasDependants: old.hasDependants,
    memory: { ...created.memory, workers: old.memory.workers, excluded: old.memory.excluded },
  });
  const over = openTaskLayers(readGuard(draft, next));
  if (trip !== null && over.length > 0) return stillOverLimit(over.map(layerToWire));
  for (const dependant of draft.context.view.dependants(old.id))
    draft.edges.push({ taskId: dependant.id, dependsOnId: created.id });
  draft.put({ ...draft.taskOf(old.id), supersededBy: created.id });
  const reason = `superseded by ${toWire('task', created.id)}`;
  if (isTerminal(old.state)) return null;
  end(draft, draft.taskOf(old.id), reason);
  return null;
}

/** Whether only an operator may lift what holds the task: an operator's own block, or a trip that is grave or used up. */
export function needsOperator(draft: Draft, task: Task): boolean {
  const { trip, blockedByOperator } = task.memory;
  if (task.state === 'blocked' && blockedByOperator) return true;
  return mustEscalate({
    trip,
    recoveries: task.counters.unblockCount,
    maxRecoveries: draft.limitsOf(task).maxUnblocks,
  });
}

function sameWork(a: Task, b: Task): boolean {
  return (
    a.description === b.description &&
    sameList(a.acceptance, b.acceptance) &&
    JSON.stringify(a.limits) === JSON.stringify(b.limits)
  );
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/** Changes what a task says. Its state and counters are nobody's to write. */
export function update(draft: Draft, command: CommandOf<'update'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  const { edit } = command;
  if (edit.limits !== undefined && !draft.context.actor.roles.includes('operator')) {
    return {
      ok: false,
      refusal: {
        code: 'forbidden_role',
        detail: "A task's limits are changed by an operator, or by a planner in the form of an unblock.",
        facts: { required_roles: ['operator'] },
      },
    };
  }
  if (isTerminal(task.state)) return { ok: false, refusal: refusal.invalidTransition(task, 'update') };
  const edited = applyEdit(draft, task, edit);
  if (!edited.ok) return edited;
  const changed = changedFields(task, edited.value);
  if (changed.length === 0) return ok(null);
  const weighty = changed.some(
    (field) => field !== 'priority' && field !== 'labels' && field !== 'not_before',
  );
  const { memory } = edited.value;
  draft.put({
    ...edited.value,
    memory: { ...memory, changedSinceTrip: memory.changedSinceTrip || (memory.trip !== null && weighty) },
  });
  draft.emit('task.updated', task.id, { from: task.state, to: task.state, data: { changed } });
  settle(draft, task.id);
  return ok(null);
}

/** The task as an edit makes it. Limits given are laid over those it has; new dependencies are checked and waited for. */
export function applyEdit(draft: Draft, task: Task, edit: TaskEdit): Result<Task> {
  const { now, view } = draft.context;
  let next: Task = {
    ...task,
    title: edit.title ?? task.title,
    description: edit.description ?? task.description,
    acceptance: edit.acceptance ?? task.acceptance,
    priority: edit.priority ?? task.priority,
    labels: edit.labels ?? task.labels,
    limits: edit.limits === undefined ? task.limits : { ...task.limits, ...edit.limits },
  };
  if (edit.notBefore !== undefined)
    next = { ...next, notBefore: edit.notBefore, readyAt: Math.max(now, edit.notBefore ?? now) };
  if (edit.dependsOn !== undefined) {
    const dependsOn = [...new Set(edit.dependsOn)];
    const dependencies = standIns(draft, dependsOn);
    if ('missing' in dependencies) return { ok: false, refusal: missingDependency(dependencies.missing) };
    const circular = dependencies.tasks.filter(
      (dependency) => dependency.id === task.id || view.reaches(dependency.id, task.id),
    );
    if (circular.length > 0)
      return { ok: false, refusal: cycleRefusal(circular.map(({ id }) => toWire('task', id))) };
    dropEdges(draft, task);
    next = {
      ...next,
      dependsOn,
      unmet: waitFor(draft, task.id, dependencies.tasks),
      readyAt: Math.max(now, next.readyAt),
    };
  }
  return ok(next);
}

function dropEdges(draft: Draft, task: Task): void {
  const known = standIns(draft, task.dependsOn);
  if ('missing' in known) return;
  for (const dependency of known.tasks)
    draft.droppedEdges.push({ taskId: task.id, dependsOnId: dependency.id });
}

/** The wire names of what an edit really changed. */
export function changedFields(before: Task, after: Task): string[] {
  const changed: string[] = [];
  if (before.title !== after.title) changed.push('title');
  if (before.description !== after.description) changed.push('description');
  if (!sameList(before.acceptance, after.acceptance)) changed.push('acceptance');
  if (before.priority !== after.priority) changed.push('priority');
  if (!sameList(before.labels, after.labels)) changed.push('labels');
  if (!sameList(before.dependsOn, after.dependsOn)) changed.push('depends_on');
  if (before.notBefore !== after.notBefore) changed.push('not_before');
  if (JSON.stringify(before.limits) !== JSON.stringify(after.limits)) changed.push('limits');
  return changed;
}

/** Stops a task by hand. Its holder may still hand in what it has. */
export function block(draft: Draft, command: CommandOf<'block'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  const { actor } = draft.context;
  const plans = actor.roles.includes('planner') || actor.roles.includes('operator');
  if (!plans && task.lease?.agentId !== actor.agentId) return { ok: false, refusal: notHolder() };
  if (task.state === 'blocked') return { ok: false, refusal: refusal.taskBlocked(task) };
  if (isTerminal(task.state)) return { ok: false, refusal: refusal.invalidTransition(task, 'block') };
  const stopped = stopWork(draft, task);
  draft.put({
    ...stopped,
    state: 'blocked',
    block: { kind: command.kind, reason: command.reason },
    memory: { ...stopped.memory, blockedByOperator: actor.roles.includes('operator') },
  });
  draft.emit('task.blocked', task.id, {
    from: task.state,
    to: 'blocked',
    reason: command.reason,
    data: { kind: command.kind },
  });
  return ok(null);
}

function notHolder(): Refusal {
  return {
    code: 'forbidden_role',
    detail: 'A task is blocked by the agent that holds it, or by a planner or operator.',
    facts: { required_roles: ['planner', 'operator'] },
  };
}

/** Gives a task up for good. */
export function cancel(draft: Draft, command: CommandOf<'cancel'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  if (isTerminal(task.state)) return { ok: false, refusal: refusal.invalidTransition(task, 'cancel') };
  end(draft, task, command.reason);
  blockDependants(draft, task.id);
  return ok(null);
}

function end(draft: Draft, task: Task, reason: string): void {
  const { now, actor } = draft.context;
  draft.putQuietly(stopWork(draft, task));
  if (task.memory.trip !== null) closeTrip(draft, task.memory.trip, { strategy: 'terminate', reason });
  const stopped = draft.taskOf(task.id);
  draft.put({
    ...stopped,
    state: 'cancelled',
    block: null,
    finishedAt: now,
    memory: { ...stopped.memory, trip: null, blockedByOperator: false },
  });
  draft.emit('task.cancelled', task.id, {
    from: task.state,
    to: 'cancelled',
    reason,
    data: { by: actor.name },
  });
}
