import type { Json } from '../../../kernel/json.js';
import { ok, type Refusal, type Result } from '../../../kernel/refusal.js';
import { fingerprintOf } from '../../guard/fingerprint.js';
import type { AttemptError, CommandOf, Lease, Task } from '../types.js';
import { noteFailure, openAgentBreaker } from './breakers.js';
import type { Draft } from './draft.js';
import { countedError, extended, isTerminal, returned, withLast } from './machine.js';
import { endProbe } from './recovery.js';
import { invalidTransition, leaseLost } from './refusals.js';
import { progress } from './run.js';
import { settle } from './settle.js';
import { addToLast, addToTask, isReviewOf, usageFacts } from './usage.js';

/** What a heartbeat tells its sender to do. */
export interface Directive {
  readonly directive: 'continue' | 'stop';
  readonly reason: string | null;
  readonly leaseExpiresAt: number | null;
}

/** Which hand a fenced command comes from: the lease's holder, the holder that was stopped under it, or neither. */
type Hand =
  | { readonly kind: 'holder'; readonly lease: Lease }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'none' };

function handOf(draft: Draft, task: Task, leaseToken: number): Hand {
  const agentId = draft.context.actor.agentId;
  const { lease, memory } = task;
  if (lease !== null && lease.token === leaseToken && lease.agentId === agentId)
    return { kind: 'holder', lease };
  const { last } = memory;
  const stopped =
    last !== null && last.outcome === 'stopped' && last.token === leaseToken && last.agentId === agentId;
  return stopped ? { kind: 'stopped' } : { kind: 'none' };
}

/** The hand a result or failure comes from. A stopped holder has handed in once its result is before a reviewer, or judged. */
function handingIn(draft: Draft, task: Task, leaseToken: number): Hand {
  const hand = handOf(draft, task, leaseToken);
  const handedIn = task.state === 'in_review' || task.memory.last?.judged === true;
  return hand.kind === 'stopped' && handedIn ? { kind: 'none' } : hand;
}

/** A sign of life. Extends the lease and says whether to go on; to a stopped holder it says why to stop. */
export function heartbeat(draft: Draft, command: CommandOf<'heartbeat'>): Result<Directive> {
  const task = draft.taskOf(command.taskId);
  const hand = handOf(draft, task, command.leaseToken);
  const isReview = isReviewOf(task, draft.context.actor.agentId, command.leaseToken);
  const isStopped = hand.kind === 'stopped' || (isReview && task.memory.lastReview?.stopped === true);
  if (hand.kind === 'none' && !isStopped) return { ok: false, refusal: leaseLost(task) };
  const { usage } = command;
  if (usage !== null) {
    if (isReview) addToTask(draft, task, usage);
    else addToLast(draft, task, usage);
    draft.emit('task.usage_reported', task.id, {
      from: task.state,
      to: task.state,
      data: { attempt: task.attempt, usage: usageFacts(usage) },
    });
    settle(draft, task.id);
  }
  const now = draft.taskOf(task.id);
  if (isStopped || now.lease === null) return ok(stop(stopReason(now)));
  const lease = extended(now.lease, draft.context.now, draft.limitsOf(now).maxAttemptSeconds);
  draft.putQuietly({ ...now, lease });
  const run = draft.runOf(now);
  if (run.state === 'tripped')
    return ok({
      ...stop(`the run "${run.name}" is tripped: hand in what you have`),
      leaseExpiresAt: lease.expiresAt,
    });
  return ok({ directive: 'continue', reason: null, leaseExpiresAt: lease.expiresAt });
}

function stop(reason: string): Directive {
  return { directive: 'stop', reason, leaseExpiresAt: null };
}

function stopReason(task: Task): string {
  const why = task.block === null ? `the task is ${task.state}` : `the task is blocked: ${task.block.reason}`;
  return `${why}; hand in what you have and claim the next task`;
}

/** Hands in a result for review. Over a limit it is stored all the same, and the task blocks. */
export function submit(draft: Draft, command: CommandOf<'submit'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  if (isEmpty(command.result)) {
    return {
      ok: false,
      refusal: {
        code: 'empty_result',
        detail: 'A submission needs a result that is not empty: text, or an object with what was done.',
      },
    };
  }
  const hand = handingIn(draft, task, command.leaseToken);
  const { now } = draft.context;
  const handedIn = {
    result: command.result,
    resultHash: command.resultHash,
    ...(command.change === null ? {} : { change: command.change }),
  };
  if (hand.kind === 'stopped') {
    draft.attempts.push({ taskId: task.id, number: task.attempt, ...handedIn });
    draft.put(withLast(task, { hasResult: true }));
    if (command.usage !== null) addToLast(draft, draft.taskOf(task.id), command.usage);
    draft.emit('task.late_result', task.id, {
      from: task.state,
      to: task.state,
      data: submitFacts(task, command, 'stopped'),
    });
    settle(draft, task.id);
    return ok(null);
  }
  if (hand.kind === 'none' || hand.lease.kind === 'review')
    return tooLate(draft, task, command, command.result);
  draft.attempts.push({
    taskId: task.id,
    number: task.attempt,
    outcome: 'submitted',
    endedAt: now,
    ...handedIn,
  });
  const first = !task.memory.submitted;
  const next = withLast(task, { outcome: 'submitted', hasResult: true });
  draft.put({
    ...next,
    state: 'in_review',
    lease: null,
    readyAt: now,
    memory: { ...next.memory, submitted: true },
  });
  if (command.usage !== null) addToLast(draft, draft.taskOf(task.id), command.usage);
  draft.emit('task.submitted', task.id, {
    from: 'in_progress',
    to: 'in_review',
    data: submitFacts(task, command, 'submitted'),
  });
  if (first) progress(draft, task);
  endProbe(draft, task.id);
  settle(draft, task.id);
  return ok(null);
}

function submitFacts(task: Task, command: CommandOf<'submit'>, outcome: string) {
  return {
    attempt: task.attempt,
    outcome,
    result_hash: command.resultHash,
    ...(command.usage === null ? {} : { usage: usageFacts(command.usage) }),
  };
}

function isEmpty(result: Json): boolean {
  if (result === null) return true;
  if (typeof result === 'string') return result.trim() === '';
  if (Array.isArray(result)) return result.length === 0;
  return typeof result === 'object' && Object.keys(result).length === 0;
}

/** The task goes back to whoever comes next, with its error kept; what counts, counts. */
export function fail(draft: Draft, command: CommandOf<'fail'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  const hand = handingIn(draft, task, command.leaseToken);
  const { class: errorClass, message, detail } = command.error;
  if (hand.kind === 'none' || (hand.kind === 'holder' && hand.lease.kind === 'review')) {
    return tooLate(draft, task, command, { error: { class: errorClass, message, detail } });
  }
  const error: AttemptError = {
    class: errorClass,
    message,
    fingerprint: fingerprintOf(errorClass, message),
    detail,
  };
  const data = {
    attempt: task.attempt,
    error: { class: errorClass, message, fingerprint: error.fingerprint },
    ...(command.usage === null ? {} : { usage: usageFacts(command.usage) }),
  };
  if (hand.kind === 'stopped') {
    draft.attempts.push({ taskId: task.id, number: task.attempt, error });
    if (command.usage !== null) addToLast(draft, task, command.usage);
    draft.emit('task.late_result', task.id, {
      from: task.state,
      to: task.state,
      reason: message,
      data: { ...data, outcome: 'stopped' },
    });
    settle(draft, task.id);
    return ok(null);
  }
  const { now } = draft.context;
  draft.attempts.push({ taskId: task.id, number: task.attempt, outcome: 'failed', endedAt: now, error });
  if (command.usage !== null) addToLast(draft, task, command.usage);
  const failedWith = { class: errorClass, fingerprint: error.fingerprint };
  let next = withLast(draft.taskOf(task.id), { outcome: 'failed', failedWith });
  const counted = noteFailure(draft, task, hand.lease.agentId, error);
  if (counted) next = countedError(next);
  if (errorClass === 'fatal') {
    next = withFatal(next, hand.lease.agentId);
    openAgentBreaker(draft, hand.lease.agentId, error);
  }
  const delays = errorClass === 'rate_limited' || errorClass === 'infrastructure';
  const delay = command.retryAfterSeconds ?? (delays ? draft.context.policies.cooldownSeconds : 0);
  const back = draft.put(returned(next, now, delay));
  draft.emit('task.failed', task.id, {
    from: 'in_progress',
    to: back.state,
    reason: message,
    data: { ...data, counted, retry_after_seconds: delay },
  });
  settle(draft, task.id, back.memory.fatalBy.length > 1);
  return ok(null);
}

/** `fatal` says that this agent cannot work: it is excluded here. A second agent's `fatal` is no longer the agent's fault. */
function withFatal(task: Task, agentId: string): Task {
  const { excluded, fatalBy } = task.memory;
  return {
    ...task,
    memory: {
      ...task.memory,
      excluded: excluded.includes(agentId) ? excluded : [...excluded, agentId],
      fatalBy: fatalBy.includes(agentId) ? fatalBy : [...fatalBy, agentId],
    },
  };
}

/** Gives a task, or a review, back. No error is counted; the iteration stays counted. */
export function release(draft: Draft, command: CommandOf<'release'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  const hand = handOf(draft, task, command.leaseToken);
  if (hand.kind !== 'holder')
    return { ok: false, refusal: lateRefusal(draft, task, command.leaseToken, 'release') };
  const { now } = draft.context;
  const { reason } = command;
  if (hand.lease.kind === 'review') {
    draft.putQuietly({ ...task, lease: null });
    draft.emit('task.review_released', task.id, {
      from: 'in_review',
      to: 'in_review',
      reason,
      data: { attempt: task.attempt },
    });
    return ok(null);
  }
  draft.attempts.push({ taskId: task.id, number: task.attempt, outcome: 'released', endedAt: now });
  const back = draft.put(returned(withLast(task, { outcome: 'released' }), now));
  draft.emit('task.released', task.id, {
    from: 'in_progress',
    to: back.state,
    reason,
    data: { attempt: task.attempt },
  });
  settle(draft, task.id);
  return ok(null);
}

/** A stale hand changes nothing. What it sent is kept on its attempt as evidence, once. */
function tooLate(
  draft: Draft,
  task: Task,
  command: CommandOf<'submit' | 'fail'>,
  evidence: Json,
): Result<null> {
  const refusal = lateRefusal(draft, task, command.leaseToken, command.type);
  if (refusal.code !== 'lease_lost') return { ok: false, refusal };
  const { view, actor } = draft.context;
  const attempt = view.attempt(task.id, { token: command.leaseToken });
  if (attempt === null || attempt.agentId !== actor.agentId || attempt.lateResult !== null)
    return { ok: false, refusal };
  draft.attempts.push({ taskId: task.id, number: attempt.number, lateResult: evidence });
  draft.emit('task.late_result', task.id, {
    from: task.state,
    to: task.state,
    data: { attempt: attempt.number, outcome: attempt.outcome },
  });
  return { ok: false, refusal };
}

/** Whoever handed its attempt in already is told where the task is now; anybody else that the lease is gone. */
function lateRefusal(
  draft: Draft,
  task: Task,
  token: number,
  command: 'submit' | 'fail' | 'release',
): Refusal {
  const { lease, memory } = task;
  const { last } = memory;
  const { agentId } = draft.context.actor;
  const handedIn =
    last !== null &&
    last.token === token &&
    last.agentId === agentId &&
    (last.outcome === 'submitted' || (last.outcome === 'stopped' && last.hasResult));
  const reviewing = lease?.kind === 'review' && lease.token === token && lease.agentId === agentId;
  return (handedIn && !isTerminal(task.state)) || reviewing
    ? invalidTransition(task, command)
    : leaseLost(task);
}
