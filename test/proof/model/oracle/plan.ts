import type { CommandOf, NewTask, TaskEdit } from '../../../../src/modules/tasks/types.js';
import { DEFAULT_RUN, type Person } from '../cast.js';
import {
  type Board,
  dependants,
  find,
  isFinal,
  last,
  limitsOf,
  refuse,
  runOf,
  standIns,
  type Task,
  type Trip,
  taskOf,
  waitsFor,
} from './board.js';
import { endProbe, over, readTask, settle, stop } from './guard.js';

const UNTOUCHED = {
  supersededBy: null,
  block: null,
  blockedByOperator: false,
  lease: null,
  token: 0,
  assigned: null,
  failedLike: null,
  reworks: 0,
  reworkTotal: 0,
  errors: 0,
  errorTotal: 0,
  reviewFailures: 0,
  starts: 0,
  tokens: 0,
  cost: 0,
  unblocks: 0,
  trips: 0,
  trip: null,
  changedSinceTrip: false,
  givenUpUnder: null,
  submitted: false,
  probeAt: null,
  probes: 0,
} as const;

const isOperator = (who: Person): boolean => who.roles.includes('operator');

/** One task, or a plan: all of it or, because the caller keeps the board as it was, nothing. */
export function create(board: Board, who: Person, { tasks }: CommandOf<'create'>): void {
  for (const planned of tasks) createOne(board, who, planned);
}

function createOne(board: Board, who: Person, planned: NewTask): Task {
  const { supersedes, dedupeKey, limits, priority, description, notBefore } = planned;
  const old = supersedes === null ? undefined : find(board, supersedes);
  const run = planned.runId ?? old?.run ?? DEFAULT_RUN;
  if (runOf(board, run).state === 'closed') refuse('run_closed');
  if (planned.parentId !== null) taskOf(board, planned.parentId);
  const dependsOn = [...new Set(planned.dependsOn)];
  standIns(board, dependsOn);
  const isHeldBy = (one: Task) =>
    one.dedupeKey === dedupeKey && one.state !== 'done' && one.supersededBy === null;
  if (dedupeKey !== null && board.tasks.some((one) => isHeldBy(one) && one.id !== supersedes))
    refuse('duplicate');
  const asUsual = limitsOf(board, { run, limits: {} }).maxUnblocks;
  if (!isOperator(who) && (limits.maxUnblocks ?? 0) > asUsual) refuse('forbidden_role');
  const task: Task = {
    ...UNTOUCHED,
    id: planned.id,
    run,
    parent: planned.parentId,
    dedupeKey,
    priority,
    description,
    limits: { ...old?.limits, ...limits },
    dependsOn,
    notBefore,
    state: 'pending',
    ready: Math.max(board.now, notBefore ?? 0),
    tries: [],
    excluded: [],
    workers: [],
    sentBack: {},
    fatalBy: [],
  };
  board.tasks.push(task);
  if (supersedes !== null) supersede(board, who, taskOf(board, supersedes), task);
  blockInVain(board, task);
  settle(board, task);
  return task;
}

/** Nothing escapes by being made anew: what an unblock would need is needed here, and the totals come along. */
function supersede(board: Board, who: Person, old: Task, task: Task): void {
  if (old.supersededBy !== null) refuse('duplicate');
  if (old.state === 'done') refuse('invalid_transition');
  if (standIns(board, task.dependsOn).some(({ id }) => waitsFor(board, id, old.id)))
    refuse('dependency_cycle');
  const trip = old.trip ?? old.givenUpUnder;
  if (!isOperator(who)) {
    if (old.blockedByOperator || isForOperator(board, old, trip)) refuse('escalation_required');
    if (limitsOf(board, task).maxUnblocks > limitsOf(board, old).maxUnblocks) refuse('forbidden_role');
    const isChanged =
      old.changedSinceTrip || old.description !== task.description || !isSame(old.limits, task.limits);
    if (trip !== null && old.unblocks > 0 && !isChanged) refuse('nothing_changed');
  }
  const { reworkTotal, errorTotal, tokens, cost, trips } = old;
  Object.assign(task, { reworkTotal, errorTotal, tokens, cost, trips });
  task.workers = [...old.workers];
  task.excluded = [...old.excluded];
  task.unblocks = old.unblocks + (trip === null ? 0 : 1);
  if (trip !== null && over(readTask(board, task)).length > 0) refuse('still_over_limit');
  old.supersededBy = task.id;
  if (!isFinal(old)) giveUp(old);
}

const isForOperator = (board: Board, task: Task, trip: Trip | null): boolean =>
  trip !== null && (trip.high || task.unblocks >= limitsOf(board, task).maxUnblocks);

const isSame = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b);

function giveUp(task: Task): void {
  stop(task);
  task.state = 'cancelled';
  task.block = null;
  task.givenUpUnder = task.trip;
  task.trip = null;
  task.probeAt = null;
}

/** What waits for one that was given up would wait for ever. */
function blockInVain(board: Board, task: Task): void {
  const waitsInVain = standIns(board, task.dependsOn).some(({ state }) => state === 'cancelled');
  if (!waitsInVain || isFinal(task) || task.state === 'blocked') return;
  stop(task);
  task.state = 'blocked';
  task.block = 'dependency';
}

export function cancel(board: Board, command: CommandOf<'cancel'>): void {
  const task = taskOf(board, command.taskId);
  if (isFinal(task)) refuse('invalid_transition');
  giveUp(task);
  for (const one of dependants(board, task)) blockInVain(board, one);
}

export function block(board: Board, who: Person, command: CommandOf<'block'>): void {
  const task = taskOf(board, command.taskId);
  const plans = who.roles.includes('planner') || isOperator(who);
  if (!plans && task.lease?.agent !== who.id) refuse('forbidden_role');
  if (task.state === 'blocked') refuse('task_blocked');
  if (isFinal(task)) refuse('invalid_transition');
  stop(task);
  task.state = 'blocked';
  task.block = command.kind;
  task.blockedByOperator = isOperator(who);
}

/** Changes what a task says; answers whether anything of weight is different: what an agent would do otherwise. */
function edit(
  board: Board,
  task: Task,
  { description, priority, dependsOn, limits, notBefore }: TaskEdit,
): boolean {
  const { description: said, dependsOn: waitedFor, limits: had } = task;
  task.description = description ?? said;
  task.priority = priority ?? task.priority;
  task.limits = { ...had, ...limits };
  if (notBefore !== undefined && notBefore !== task.notBefore) {
    task.notBefore = notBefore;
    task.ready = Math.max(board.now, notBefore ?? 0);
  }
  if (dependsOn !== undefined) {
    const next = [...new Set(dependsOn)];
    if (standIns(board, next).some(({ id }) => waitsFor(board, id, task.id))) refuse('dependency_cycle');
    if (!isSame(waitedFor, next)) task.ready = Math.max(board.now, task.ready);
    task.dependsOn = next;
  }
  return said !== task.description || !isSame(waitedFor, task.dependsOn) || !isSame(had, task.limits);
}

export function update(board: Board, who: Person, command: CommandOf<'update'>): void {
  const task = taskOf(board, command.taskId);
  if (command.edit.limits !== undefined && !isOperator(who)) refuse('forbidden_role');
  if (isFinal(task)) refuse('invalid_transition');
  const before = [task.priority, task.notBefore];
  const isWeighty = edit(board, task, command.edit);
  if (!isWeighty && isSame(before, [task.priority, task.notBefore])) return;
  if (task.trip !== null) task.changedSinceTrip ||= isWeighty;
  settle(board, task);
  if (command.edit.dependsOn !== undefined) blockInVain(board, task);
}

/** Lifts a block: a form, not a button. What no limit has blocked is lifted without counting anything. */
export function unblock(board: Board, who: Person, command: CommandOf<'unblock'>): void {
  const task = taskOf(board, command.taskId);
  const { changes, to, resetTokens } = command;
  if (task.state !== 'blocked') refuse('invalid_transition');
  const trip = task.trip?.probing ? null : task.trip;
  if (!isOperator(who)) {
    if (task.blockedByOperator || isForOperator(board, task, trip)) refuse('escalation_required');
    if (changes.limits?.maxUnblocks !== undefined) refuse('forbidden_role');
  }
  if (to === 'in_review' && (!last(task)?.hasResult || last(task)?.judged)) refuse('invalid_transition');
  const { excludedAgentId: excluded, assignedAgentId: assigned, ...edits } = changes;
  const hands = [...task.excluded, task.assigned];
  if (assigned !== undefined) {
    task.excluded = task.excluded.filter((id) => id !== assigned);
    task.assigned = assigned;
  }
  if (excluded !== undefined) {
    if (!task.excluded.includes(excluded)) task.excluded.push(excluded);
    if (task.assigned === excluded) task.assigned = null;
  }
  const isWeighty = edit(board, task, edits);
  const isChanged = task.changedSinceTrip || isWeighty || !isSame(hands, [...task.excluded, task.assigned]);
  if (trip !== null && !isOperator(who) && task.unblocks > 0 && !isChanged) refuse('nothing_changed');
  if (task.block === 'dependency' || to === 'in_review') {
    const isGivenUp = (id: string) => standIns(board, [id]).some(({ state }) => state === 'cancelled');
    task.dependsOn = task.dependsOn.filter((id) => !isGivenUp(id));
  }
  task.state = to;
  task.block = null;
  task.blockedByOperator = false;
  task.ready = Math.max(board.now, task.notBefore ?? 0);
  if (resetTokens) task.tokens = 0;
  if (trip !== null) {
    task.unblocks += 1;
    Object.assign(task, { reworks: 0, errors: 0, reviewFailures: 0, starts: 0, probes: 0, probeAt: null });
    Object.assign(task, { trip: null, changedSinceTrip: false, sentBack: {}, fatalBy: [] });
  }
  if (over(readTask(board, task)).length > 0) refuse('still_over_limit');
  if (to === 'in_review') endProbe(task);
  settle(board, task);
  blockInVain(board, task);
}

/** An unblock whose change is a set of parts that the task then waits for; they carry its history. */
export function split(board: Board, who: Person, command: CommandOf<'split'>): void {
  const task = taskOf(board, command.taskId);
  if (task.state !== 'blocked') refuse('invalid_transition');
  const parts = command.tasks.map((part) =>
    createOne(board, who, { ...part, parentId: task.id, runId: task.run }),
  );
  const dependsOn = [...task.dependsOn, ...parts.map(({ id }) => id)];
  const { taskId, reason, assessment, resetTokens, changes } = command;
  const how = { taskId, reason, assessment, resetTokens, to: 'pending' as const };
  unblock(board, who, { ...how, type: 'unblock', changes: { ...changes, dependsOn } });
  const { reworkTotal, errorTotal, unblocks, trips } = task;
  for (const part of parts) Object.assign(part, { reworkTotal, errorTotal, unblocks, trips });
}

/** Hands an open trip to an operator. */
export function escalate(board: Board, command: CommandOf<'escalate'>): void {
  const task = taskOf(board, command.taskId);
  if (task.trip === null || task.trip.probing) refuse('invalid_transition');
  task.trip.high = true;
  task.probeAt = null;
}
