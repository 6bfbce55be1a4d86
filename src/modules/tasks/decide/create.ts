import { toWire } from '../../../kernel/ids.js';
import type { JsonObject } from '../../../kernel/json.js';
import { ok, type Refusal, type Result } from '../../../kernel/refusal.js';
import { ownLimitsToWire } from '../../guard/wire.js';
import { newRun } from '../../runs/decide.js';
import type { RunStart } from '../../runs/types.js';
import { runFacts } from '../../runs/wire.js';
import type { CommandOf, NewTask, Task, TaskMemory } from '../types.js';
import { givenUp, missingDependency, standIns, waitFor, waitsInVain } from './dependencies.js';
import type { Draft } from './draft.js';
import { holdsDedupeKey, NO_COUNTERS, readyFrom } from './machine.js';
import { inDependencyOrder } from './plan-order.js';
import * as refusal from './refusals.js';
import { missingRun } from './runs.js';
import { settle } from './settle.js';
import { blockingTrip } from './stop.js';
import { supersede } from './supersede.js';

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
  cancelledUnder: null,
  submitted: false,
  autoRecoverAt: null,
  autoRecoveries: 0,
  lastReview: null,
  fatalBy: [],
};

/** Creates one task or a whole plan: all of it, or nothing. */
export function create(draft: Draft, command: CommandOf<'create'>): Result<readonly string[]> {
  if (command.run !== null) {
    if (refusal.raisesUnblocks(draft, command.run.limits, draft.usualLimits))
      return { ok: false, refusal: refusal.operatorsLimit() };
    createRun(draft, command.run);
  }
  const ordered = inDependencyOrder(command.tasks);
  if (!ordered.ok) return ordered;
  for (const task of ordered.value) {
    const refused = createOne(draft, task, { runId: command.run?.id ?? null, parent: null });
    if (refused !== null) return { ok: false, refusal: refused };
  }
  return ok(command.tasks.map((task) => task.id));
}

function createRun(draft: Draft, planned: RunStart): void {
  const { now, actor } = draft.context;
  const run = draft.putRun(newRun(planned, actor.projectId, now));
  draft.emitOfRun('run.created', run, { data: runFacts(run) });
}

/**
 * Creates one task, in the run of its plan unless it names another; a refusal, or null. A part of a task that is taken apart
 * begins with the history of that one.
 */
export function createOne(
  draft: Draft,
  planned: NewTask,
  whole: { readonly runId: string | null; readonly parent: Task | null },
): Refusal | null {
  const { now, actor, view } = draft.context;
  // What replaces a task stays in its run and under its limits, unless it says otherwise.
  const old = planned.supersedes === null ? null : draft.task(planned.supersedes);
  const runId = planned.runId ?? whole.runId ?? old?.runId ?? view.defaultRun().id;
  const run = draft.runs.get(runId) ?? view.run(runId);
  if (run === null) return missingRun(runId);
  if (run.state === 'closed') return refusal.runClosed(run);
  if (planned.parentId !== null && draft.task(planned.parentId) === null)
    return refusal.notFound(planned.parentId);
  const dependencies = standIns(draft, planned.dependsOn);
  if ('missing' in dependencies) return missingDependency(dependencies.missing);
  const holder = holderOfDedupeKey(draft, planned.dedupeKey);
  if (holder !== null && holder.id !== planned.supersedes) return refusal.duplicate(holder);

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
    limits: { ...old?.limits, ...planned.limits },
    notBefore: planned.notBefore,
    state: 'pending',
    readyAt: readyFrom(planned, now),
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
  if (refusal.raisesUnblocks(draft, planned.limits, draft.limitsFor(run))) return refusal.operatorsLimit();
  const created = draft.add(fresh);
  if (planned.supersedes !== null) {
    const refused = supersede(draft, planned.supersedes, created, dependencies.tasks);
    if (refused !== null) return refused;
  }
  const unmet = waitFor(draft, created.id, dependencies.tasks);
  const cancelled = givenUp(draft, created.dependsOn);
  const blocked = cancelled === null ? null : waitsInVain(cancelled);
  const begun = draft.taskOf(created.id);
  draft.put({
    ...begun,
    counters: { ...begun.counters, ...historyOf(whole.parent) },
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

/** Nothing escapes by being taken apart: each part answers for what the whole has been through. */
function historyOf(parent: Task | null): Partial<Task['counters']> {
  if (parent === null) return {};
  const { reworkTotal, errorTotal, unblockCount, tripCount } = parent.counters;
  const lifted = blockingTrip(parent) === null ? 0 : 1;
  return { reworkTotal, errorTotal, unblockCount: unblockCount + lifted, tripCount };
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
  for (const task of draft.tasks.values()) if (task.dedupeKey === key && holdsDedupeKey(task)) return task;
  const holder = draft.context.view.dedupeHolder(key);
  return holder !== null && holdsDedupeKey(draft.taskOf(holder.id)) ? holder : null;
}
