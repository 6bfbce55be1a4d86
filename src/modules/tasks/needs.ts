import type { AttemptKey, Board } from './board.js';
import { isBreakerCommand, isRunCommand } from './decide.js';
import type { Envelope } from './envelope.js';
import type { Command, NewTask, Task } from './types.js';
import type { Window } from './windows.js';

/** Rows that a batch must know before it can be decided, and the board does not have yet. */
export class Needs {
  readonly tasks = new Set<string>();
  readonly runs = new Set<string>();
  readonly dependants = new Set<string>();
  readonly reachable = new Set<string>();
  readonly dedupeKeys = new Set<string>();
  readonly attempts: AttemptKey[] = [];
  readonly queues = new Set<Window>();
  private readonly claims = new Map<Window, number>();

  get isEmpty(): boolean {
    const { tasks, runs, dependants, reachable, dedupeKeys, attempts, queues } = this;
    return (
      [tasks, runs, dependants, reachable, dedupeKeys, queues].every((set) => set.size === 0) &&
      attempts.length === 0
    );
  }

  /** How many tasks the batch asks of a queue so far. */
  asked(window: Window, more: number): number {
    const total = (this.claims.get(window) ?? 0) + more;
    this.claims.set(window, total);
    return total;
  }
}

/**
 * What is still missing to decide some commands. Asked again after each load, because one row points at the next: a task at
 * its run, a dependency at the one that supersedes it.
 */
export function needsOf(board: Board, envelopes: readonly Envelope[]): Needs {
  const needs = new Needs();
  for (const envelope of envelopes) needCommand(board, needs, envelope);
  return needs;
}

function needCommand(board: Board, needs: Needs, { command, actor }: Envelope): void {
  if (isBreakerCommand(command)) return;
  if (isRunCommand(command)) {
    if (command.type !== 'create_run') needRun(board, needs, command.runId);
    return;
  }
  if (command.type === 'claim_next') {
    const { purpose, runId, labels } = command;
    const window = board.windows.of({ purpose, runId, labels, agentId: actor.agentId });
    const asked = needs.asked(window, command.max);
    const isShort = !window.complete && window.ids.length < Math.min(asked, window.size);
    if (window.starved || (isShort && !window.fresh)) needs.queues.add(window);
    if (runId !== null) needRun(board, needs, runId);
    return;
  }
  if (command.type === 'create') {
    needNewTasks(board, needs, command.tasks);
    return;
  }
  const task = needTask(board, needs, command.taskId);
  if (task !== null) needForTask(board, needs, command, task);
}

function needNewTasks(board: Board, needs: Needs, tasks: readonly NewTask[]): void {
  const planned = new Set(tasks.map((task) => task.id));
  const outside = tasks.flatMap((task) => task.dependsOn).filter((id) => !planned.has(id));
  needDependencies(board, needs, outside);
  // Only where one of them comes to stand before what is there already could they form a circle with it.
  if (tasks.some((task) => task.supersedes !== null)) needReachable(board, needs, outside);
  for (const task of tasks) {
    if (task.runId !== null) needRun(board, needs, task.runId);
    if (task.parentId !== null && !planned.has(task.parentId)) needTask(board, needs, task.parentId);
    if (task.dedupeKey !== null && !board.knowsDedupe(task.dedupeKey)) needs.dedupeKeys.add(task.dedupeKey);
    if (task.supersedes !== null) {
      const old = needTask(board, needs, task.supersedes);
      if (old !== null) needDependants(board, needs, old);
      if (old?.supersededBy != null) needTask(board, needs, old.supersededBy);
    }
  }
}

function needForTask(
  board: Board,
  needs: Needs,
  command: Exclude<Command, { type: 'create' | 'claim_next' }>,
  task: Task,
): void {
  switch (command.type) {
    case 'claim':
      if (task.unmet > 0) needDependencies(board, needs, task.dependsOn);
      return;
    case 'approve':
    case 'cancel':
      needDependants(board, needs, task);
      return;
    case 'update':
      if (command.edit.dependsOn !== undefined)
        needNewDependencies(board, needs, task, command.edit.dependsOn);
      return;
    case 'unblock':
      if (command.changes.dependsOn !== undefined)
        needNewDependencies(board, needs, task, command.changes.dependsOn);
      needDependencies(board, needs, task.dependsOn);
      return;
    case 'split': {
      const parts = new Set(command.tasks.map((part) => part.id));
      const outside = command.tasks.flatMap((part) => part.dependsOn).filter((id) => !parts.has(id));
      needNewTasks(board, needs, command.tasks);
      needNewDependencies(board, needs, task, [...task.dependsOn, ...outside]);
      return;
    }
    case 'submit':
    case 'fail':
      if (command.leaseToken !== task.lease?.token)
        needAttempt(board, needs, { taskId: task.id, token: command.leaseToken, number: null });
      return;
    case 'report_usage':
      needReported(board, needs, task, command.leaseToken, command.attempt);
      return;
    default:
      return;
  }
}

/** The task once it is known; null while it is missing, or when there is none. */
function needTask(board: Board, needs: Needs, id: string): Task | null {
  if (!board.knows(id)) {
    needs.tasks.add(id);
    return null;
  }
  const task = board.task(id);
  if (task !== null) needRun(board, needs, task.runId);
  return task;
}

function needRun(board: Board, needs: Needs, id: string): void {
  if (!board.knowsRun(id)) needs.runs.add(id);
}

function needDependants(board: Board, needs: Needs, task: Task): void {
  if (!task.hasDependants) return;
  const ids = board.dependantIdsOf(task.id);
  if (ids === null) needs.dependants.add(task.id);
  else for (const id of ids) needTask(board, needs, id);
}

function needDependencies(board: Board, needs: Needs, ids: readonly string[]): void {
  for (const id of ids) {
    let task = needTask(board, needs, id);
    while (task?.supersededBy != null) task = needTask(board, needs, task.supersededBy);
  }
}

function needNewDependencies(board: Board, needs: Needs, task: Task, dependsOn: readonly string[]): void {
  needDependencies(board, needs, task.dependsOn);
  needDependencies(board, needs, dependsOn);
  needReachable(board, needs, dependsOn);
}

function needReachable(board: Board, needs: Needs, ids: readonly string[]): void {
  for (const id of ids) if (!board.knowsReachable(id)) needs.reachable.add(id);
}

/** The last attempt stands on the task; an earlier one must be read. */
function needReported(
  board: Board,
  needs: Needs,
  task: Task,
  token: number | null,
  number: number | null,
): void {
  const { last } = task.memory;
  const isLast =
    number === null
      ? token === null || token === last?.token || token === task.lease?.token
      : number === last?.number;
  if (!isLast) needAttempt(board, needs, { taskId: task.id, token: number === null ? token : null, number });
}

function needAttempt(board: Board, needs: Needs, key: AttemptKey): void {
  if (!board.knowsAttempt(key)) needs.attempts.push(key);
}
