import type { CommandOf, Usage } from '../../../../src/modules/tasks/types.js';
import type { Person } from '../cast.js';
import { type Board, isFinal, last, limitsOf, refuse, runOf, type Task, type Try, taskOf } from './board.js';
import { endProbes, noteError, openOf } from './breakers.js';
import { endProbe, settle } from './guard.js';

export const progress = (board: Board, task: Task): void => {
  const run = runOf(board, task.run);
  if (!run.total && run.state === 'open') run.iterations = 0;
};

/** Back to whoever comes next. */
export function giveBack(board: Board, task: Task, delaySeconds = 0): void {
  task.state = task.reworks > 0 ? 'rework' : 'pending';
  task.lease = null;
  task.ready = Math.max(board.now + delaySeconds * 1000, task.notBefore ?? 0);
}

/** What the server records when a lease has run out. */
export function expire(board: Board, task: Task): void {
  const attempt = last(task);
  if (task.lease?.kind === 'review') {
    task.lease = null;
    task.reviewFailures += 1;
  } else if (attempt !== undefined) {
    attempt.outcome = 'lease_expired';
    task.failedLike = 'lease_expired';
    task.errors += 1;
    task.errorTotal += 1;
    giveBack(board, task);
  }
  settle(board, task);
  endProbes(board);
}

export const hasRunOut = (board: Board, { lease }: Task): boolean =>
  lease !== null && lease.until <= board.now;

/** Usage is an increment, taken always. A cache that is read again is no new work. */
export function spend(board: Board, task: Task, usage: Usage | null): void {
  if (usage === null) return;
  const tokens = usage.tokens.input + usage.tokens.output + usage.tokens.cacheWrite;
  for (const counted of [task, runOf(board, task.run)]) {
    counted.tokens += tokens;
    counted.cost += usage.costMicros;
  }
  runOf(board, task.run).iterations += usage.iterations;
}

type Hand = 'holder' | 'stopped' | 'none';

/** Whose hand a token is: the lease's holder's, or of one who was stopped and has no follower yet. */
function handOf(task: Task, agent: string, token: number): Hand {
  const { lease } = task;
  if (lease !== null && lease.token === token && lease.agent === agent) return 'holder';
  return isOwn(last(task), agent, token) && last(task)?.outcome === 'stopped' ? 'stopped' : 'none';
}

const isOwn = (attempt: Try | undefined, agent: string, token: number): boolean =>
  attempt !== undefined && attempt.agent === agent && attempt.token === token;

/** The refusal of who comes too late: who has handed in, or only reviews, is told the state; anybody else that the lease is gone. */
function tooLate(task: Task, agent: string, token: number): never {
  const attempt = last(task);
  const handedIn =
    isOwn(attempt, agent, token) && (attempt?.outcome === 'submitted' || attempt?.hasResult === true);
  const reviews = handOf(task, agent, token) === 'holder' && task.lease?.kind === 'review';
  return refuse((handedIn && !isFinal(task)) || reviews ? 'invalid_transition' : 'lease_lost');
}

/** Who hands in a result or a failure: what a stopped holder has sent is taken until it is before a reviewer. */
function handsIn(task: Task, agent: string, token: number): 'holder' | 'stopped' {
  const hand = handOf(task, agent, token);
  const isJudged = task.state === 'in_review' || last(task)?.judged === true;
  if (hand === 'none' || task.lease?.kind === 'review' || (hand === 'stopped' && isJudged))
    return tooLate(task, agent, token);
  return hand;
}

export function heartbeat(board: Board, who: Person, command: CommandOf<'heartbeat'>): 'continue' | 'stop' {
  const task = taskOf(board, command.taskId);
  const hand = handOf(task, who.id, command.leaseToken);
  if (hand === 'none') refuse('lease_lost');
  spend(board, task, command.usage);
  if (command.usage !== null) settle(board, task);
  const { lease } = task;
  if (hand === 'stopped' || lease === null) return 'stop';
  const longest = lease.from + limitsOf(board, task).maxAttemptSeconds * 1000;
  lease.until = Math.max(lease.until, Math.min(board.now + lease.seconds * 1000, longest));
  return runOf(board, task.run).state === 'tripped' ? 'stop' : 'continue';
}

/** Taken from whoever worked on the attempt meant, or holds the review. */
export function reportUsage(board: Board, who: Person, command: CommandOf<'report_usage'>): void {
  const task = taskOf(board, command.taskId);
  const { attempt, leaseToken } = command;
  const isReview =
    task.lease?.kind === 'review' && task.lease.agent === who.id && task.lease.token === leaseToken;
  const byToken = leaseToken === null ? last(task) : task.tries.find(({ token }) => token === leaseToken);
  const meant = attempt === null ? byToken : task.tries[attempt - 1];
  if (!isReview && meant?.agent !== who.id) refuse('lease_lost');
  spend(board, task, command.usage);
  settle(board, task);
}

export function submit(board: Board, who: Person, command: CommandOf<'submit'>): void {
  const task = taskOf(board, command.taskId);
  if (command.result === '') refuse('empty_result');
  const hand = handsIn(task, who.id, command.leaseToken);
  const attempt = last(task);
  if (attempt === undefined) return;
  attempt.hasResult = true;
  spend(board, task, command.usage);
  if (hand === 'holder') {
    attempt.outcome = 'submitted';
    task.state = 'in_review';
    task.lease = null;
    task.ready = board.now;
    if (!task.submitted) progress(board, task);
    task.submitted = true;
    endProbe(task);
  }
  settle(board, task);
}

export function fail(board: Board, who: Person, command: CommandOf<'fail'>): void {
  const task = taskOf(board, command.taskId);
  const hand = handsIn(task, who.id, command.leaseToken);
  spend(board, task, command.usage);
  const attempt = last(task);
  const { class: errorClass, message } = command.error;
  if (hand === 'holder' && attempt !== undefined) {
    attempt.outcome = 'failed';
    task.failedLike = `${errorClass}: ${message}`;
    const counts = errorClass === 'error' && noteError(board, task, who.id, task.failedLike);
    if (counts) {
      task.errors += 1;
      task.errorTotal += 1;
    }
    if (errorClass === 'fatal') {
      if (!task.excluded.includes(who.id)) task.excluded.push(who.id);
      if (!task.fatalBy.includes(who.id)) task.fatalBy.push(who.id);
      openOf(board, who.id, task.failedLike);
    }
    const waits = errorClass === 'rate_limited' || errorClass === 'infrastructure';
    giveBack(board, task, command.retryAfterSeconds ?? (waits ? board.rules.cooldownSeconds : 0));
  }
  settle(board, task, hand === 'holder' && task.fatalBy.length > 1);
}

export function release(board: Board, who: Person, command: CommandOf<'release'>): void {
  const task = taskOf(board, command.taskId);
  const attempt = last(task);
  if (handOf(task, who.id, command.leaseToken) !== 'holder') tooLate(task, who.id, command.leaseToken);
  if (task.lease?.kind === 'review') {
    task.lease = null;
    return;
  }
  if (attempt !== undefined) attempt.outcome = 'released';
  giveBack(board, task);
  settle(board, task);
}
