import { toWire } from '../../../kernel/ids.js';
import { ok, type Refusal, type Result } from '../../../kernel/refusal.js';
import type { CommandOf, Task, Verdict } from '../types.js';
import { resolveDependants } from './dependencies.js';
import type { Draft } from './draft.js';
import { expireLease } from './expiry.js';
import { readyFrom, withLast } from './machine.js';
import * as refusal from './refusals.js';
import { progress } from './run.js';
import { settle } from './settle.js';

/** Why this verdict may not stand, or null. The order is the domain's: the first match names the refusal. */
function verdictRefusal(draft: Draft, task: Task, command: CommandOf<'approve' | 'rework'>): Refusal | null {
  const { actor } = draft.context;
  if (actor.agentId !== null && task.memory.workers.includes(actor.agentId)) return refusal.selfReview(task);
  if (command.attempt !== null && command.attempt !== task.attempt)
    return refusal.staleAttempt(task, command.attempt);
  if (task.memory.last?.judged === true) return refusal.verdictRecorded(task);
  const { lease } = task;
  if (lease?.kind === 'review' && lease.agentId !== actor.agentId) return refusal.alreadyClaimed(draft, task);
  if (task.state === 'blocked') return refusal.taskBlocked(task);
  if (task.state !== 'in_review') return refusal.invalidTransition(task, command.type);
  if (command.leaseToken !== null && lease?.token !== command.leaseToken) return refusal.leaseLost(task);
  return null;
}

/** A review lease past its end is recorded as expired before anybody else's verdict is heard. */
function withoutDeadReview(draft: Draft, taskId: string): Task {
  const task = draft.taskOf(taskId);
  const { lease } = task;
  const { now, actor } = draft.context;
  const dead = lease?.kind === 'review' && lease.expiresAt <= now && lease.agentId !== actor.agentId;
  return dead ? expireLease(draft, task) : task;
}

/** Accepts the attempt's result: the task is done, and what waited for it may start. */
export function approve(draft: Draft, command: CommandOf<'approve'>): Result<null> {
  const task = withoutDeadReview(draft, command.taskId);
  const refused = verdictRefusal(draft, task, command);
  if (refused !== null) return { ok: false, refusal: refused };
  const { now } = draft.context;
  const verdict = verdictBy(draft, task, { approved: true, reason: command.note, class: null, findings: [] });
  draft.attempts.push({ taskId: task.id, number: task.attempt, verdict });
  draft.put({ ...judged(task, verdict), state: 'done', lease: null, claimedBy: null, finishedAt: now });
  draft.emit('task.approved', task.id, {
    from: 'in_review',
    to: 'done',
    reason: command.note,
    data: { attempt: task.attempt },
  });
  progress(draft, task);
  settle(draft, task.id);
  resolveDependants(draft, task.id);
  return ok(null);
}

/** Sends the attempt back. The fifth time blocks the task. `infrastructure` is no verdict: only the review failed. */
export function rework(draft: Draft, command: CommandOf<'rework'>): Result<null> {
  const task = withoutDeadReview(draft, command.taskId);
  const refused = verdictRefusal(draft, task, command);
  if (refused !== null) return { ok: false, refusal: refused };
  if (command.class === 'infrastructure') return reviewFailed(draft, task, command.reason);
  const { now } = draft.context;
  const verdict = verdictBy(draft, task, {
    approved: false,
    reason: command.reason,
    class: command.class,
    findings: command.findings,
  });
  draft.attempts.push({ taskId: task.id, number: task.attempt, verdict });
  const { counters } = task;
  const next = judged(task, verdict);
  const executor = task.memory.last?.agentId;
  const { sentBack } = next.memory;
  draft.put({
    ...next,
    state: 'rework',
    lease: null,
    claimedBy: null,
    readyAt: readyFrom(task, now),
    counters: { ...counters, reworkCount: counters.reworkCount + 1, reworkTotal: counters.reworkTotal + 1 },
    memory: {
      ...next.memory,
      sentBack:
        executor === undefined ? sentBack : { ...sentBack, [executor]: (sentBack[executor] ?? 0) + 1 },
    },
  });
  draft.emit('task.rework_requested', task.id, {
    from: 'in_review',
    to: 'rework',
    reason: command.reason,
    data: {
      attempt: task.attempt,
      class: command.class,
      executor_id: executor === undefined ? null : toWire('agent', executor),
      findings: command.findings.map(({ criterion, detail }) => ({ criterion, detail })),
    },
  });
  settle(draft, task.id);
  return ok(null);
}

function reviewFailed(draft: Draft, task: Task, reason: string): Result<null> {
  const { counters } = task;
  draft.put({ ...task, lease: null, counters: { ...counters, reviewFailures: counters.reviewFailures + 1 } });
  draft.emit('task.review_failed', task.id, {
    from: 'in_review',
    to: 'in_review',
    reason,
    data: { attempt: task.attempt },
  });
  settle(draft, task.id);
  return ok(null);
}

function verdictBy(
  draft: Draft,
  task: Task,
  word: Pick<Verdict, 'approved' | 'reason' | 'class' | 'findings'>,
): Verdict {
  const { actor, now } = draft.context;
  if (actor.agentId === null) throw new Error('the server judges nothing');
  return { attempt: task.attempt, by: actor.agentId, at: now, ...word };
}

function judged(task: Task, verdict: Verdict): Task {
  return { ...withLast(task, { judged: true }), feedback: verdict };
}
