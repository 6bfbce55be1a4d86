import type { CommandOf } from '../../../../src/modules/tasks/types.js';
import type { Person } from '../cast.js';
import { type Board, dependants, last, refuse, type Task, taskOf, unmet } from './board.js';
import { settle } from './guard.js';
import { expire, hasRunOut, progress } from './work.js';

/** The task before the judge, or the first reason against a verdict. A dead review of somebody else's is recorded first. */
function before(board: Board, who: Person, command: CommandOf<'approve' | 'rework'>): Task {
  const task = taskOf(board, command.taskId);
  const { attempt, leaseToken } = command;
  if (task.lease?.kind === 'review' && task.lease.agent !== who.id && hasRunOut(board, task))
    expire(board, task);
  const { lease } = task;
  if (task.workers.includes(who.id)) refuse('self_review');
  if (attempt !== null && attempt !== task.tries.length) refuse('stale_attempt');
  if (last(task)?.judged) refuse('verdict_already_recorded');
  if (lease?.kind === 'review' && lease.agent !== who.id) refuse('already_claimed');
  if (task.state === 'blocked') refuse('task_blocked');
  if (task.state !== 'in_review') refuse('invalid_transition');
  if (leaseToken !== null && lease?.token !== leaseToken) refuse('lease_lost');
  return task;
}

function judged(task: Task): void {
  const attempt = last(task);
  if (attempt !== undefined) attempt.judged = true;
  task.lease = null;
}

export function approve(board: Board, who: Person, command: CommandOf<'approve'>): void {
  const task = before(board, who, command);
  judged(task);
  const waiting = dependants(board, task);
  task.state = 'done';
  progress(board, task);
  settle(board, task);
  for (const one of waiting) if (unmet(board, one).length === 0) one.ready = Math.max(board.now, one.ready);
}

export function rework(board: Board, who: Person, command: CommandOf<'rework'>): void {
  const task = before(board, who, command);
  if (command.class === 'infrastructure') {
    task.lease = null;
    task.reviewFailures += 1;
  } else {
    judged(task);
    const executor = last(task)?.agent ?? '';
    task.sentBack[executor] = (task.sentBack[executor] ?? 0) + 1;
    task.reworks += 1;
    task.reworkTotal += 1;
    task.state = 'rework';
    task.ready = Math.max(board.now, task.notBefore ?? 0);
  }
  settle(board, task);
}
