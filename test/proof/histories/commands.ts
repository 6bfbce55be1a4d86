import { counted, overLimit, returned, settled, stopped, used } from './limits.js';
import {
  type Agent,
  type Call,
  type CallOf,
  type Fields,
  hasWorked,
  isFinished,
  LIMITS,
  shown,
  type TaskState,
} from './task.js';

/** What one command does to a task when nothing else happens meanwhile. */

/** The task afterwards, the very same where nothing was changed, and what is answered. */
export interface Done {
  readonly task: TaskState;
  /** `ok`, or the code of a refusal. */
  readonly code: string;
  /** What the answer shows beside the task; for a heartbeat, instead of it. */
  readonly beside?: Fields;
  /** Leases alone do not make a new version of the task. */
  readonly quiet?: true;
}

/** The moment a command takes effect, as far as it is known. */
export interface Circumstances {
  readonly agent: Agent;
  /** Until when a lease that is given or extended now must last. */
  readonly lastsUntil: number;
}

/** Does one command. */
export function perform(task: TaskState, call: Call, at: Circumstances): Done {
  switch (call.type) {
    case 'read':
      return { task, code: 'ok', quiet: true };
    case 'claim':
      return claim(task, call, at);
    case 'heartbeat':
      return heartbeat(task, call, at);
    case 'usage':
      return usage(task, call, at.agent);
    case 'submit':
      return submit(task, call, at.agent);
    case 'fail':
      return fail(task, call, at.agent);
    case 'release':
      return release(task, call, at.agent);
    case 'approve':
    case 'rework':
      return judge(task, call, at.agent);
    case 'block':
      return block(task, at.agent);
    case 'unblock':
      return unblock(task, call, at.agent);
    case 'cancel':
      if (isFinished(task)) return refused(task, 'invalid_transition');
      return done({ ...stopped(task), state: 'cancelled', blockKind: null, trip: null });
  }
}

const done = (task: TaskState): Done => ({ task, code: 'ok' });
const refused = (task: TaskState, code: string): Done => ({ task, code, quiet: true });

function claim(task: TaskState, { purpose }: CallOf<'claim'>, { agent, lastsUntil }: Circumstances): Done {
  const { lease } = task;
  if (purpose === 'review' && hasWorked(task, agent.id)) return refused(task, 'self_review');
  if (lease?.purpose === purpose) {
    if (lease.agentId !== agent.id) return refused(task, 'already_claimed');
    return { task, code: 'ok', quiet: true, beside: { lease_token: lease.token } };
  }
  if (task.state === 'blocked') return refused(task, 'task_blocked');
  const token = task.leaseToken + 1;
  const given = { ...task, leaseToken: token, lease: { purpose, agentId: agent.id, token, lastsUntil } };
  const beside = { lease_token: token };
  if (purpose === 'review') {
    if (task.state !== 'in_review') return refused(task, 'invalid_transition');
    const review = { agentId: agent.id, token, stopped: false };
    return { task: { ...given, review }, code: 'ok', quiet: true, beside };
  }
  if (task.state !== 'pending' && task.state !== 'rework') return refused(task, 'invalid_transition');
  const attempts = [...task.attempts, { agentId: agent.id, token }];
  const fresh = { outcome: 'in_progress', hasResult: false, judged: false } as const;
  const started: TaskState = { ...given, ...fresh, state: 'in_progress', claimedBy: agent.id, attempts };
  return { task: started, code: 'ok', beside };
}

type Hand = 'worker' | 'reviewer' | 'stopped' | 'none';

/** Whose hand a token is: the lease's holder, the holder that was stopped under it, or nobody's who may act. */
function handOf(task: TaskState, token: number, agent: Agent): Hand {
  const { lease } = task;
  if (lease !== null && lease.token === token && lease.agentId === agent.id)
    return lease.purpose === 'work' ? 'worker' : 'reviewer';
  return task.outcome === 'stopped' && isLast(task, token, agent) ? 'stopped' : 'none';
}

function isLast(task: TaskState, token: number, agent: Agent): boolean {
  const last = task.attempts.at(-1);
  return last !== undefined && last.token === token && last.agentId === agent.id;
}

/** Whether a token is that of an agent's review: the one under way, or the last, however it ended. */
function isReview({ review }: TaskState, token: number, agent: Agent): boolean {
  return review !== null && review.agentId === agent.id && review.token === token;
}

function heartbeat(task: TaskState, { token, tokens }: CallOf<'heartbeat'>, at: Circumstances): Done {
  const hand = handOf(task, token, at.agent);
  const isStopped = hand === 'stopped' || (isReview(task, token, at.agent) && task.review?.stopped === true);
  if (hand === 'none' && !isStopped) return refused(task, 'lease_lost');
  const quiet = tokens === 0 ? ({ quiet: true } as const) : {};
  const after = tokens === 0 ? task : settled(used(task, tokens));
  const { lease } = after;
  if (isStopped || lease === null)
    return { task: after, code: 'ok', beside: { directive: 'stop' }, ...quiet };
  const lastsUntil = Math.max(lease.lastsUntil, at.lastsUntil);
  const longer = { ...after, lease: { ...lease, lastsUntil } };
  return { task: longer, code: 'ok', beside: { directive: 'continue' }, ...quiet };
}

function usage(task: TaskState, { token, tokens }: CallOf<'usage'>, agent: Agent): Done {
  const worked = task.attempts.some((attempt) => attempt.token === token && attempt.agentId === agent.id);
  if (!worked && !isReview(task, token, agent)) return refused(task, 'lease_lost');
  return done(settled(used(task, tokens)));
}

/** What a stopped holder hands in is heard once more: until a result of its attempt is before a reviewer, or judged. */
function handingIn(task: TaskState, token: number, agent: Agent): Hand {
  const hand = handOf(task, token, agent);
  return hand === 'stopped' && (task.state === 'in_review' || task.judged) ? 'none' : hand;
}

function submit(task: TaskState, { token, tokens }: CallOf<'submit'>, agent: Agent): Done {
  const hand = handingIn(task, token, agent);
  if (hand === 'stopped') return done(settled(used({ ...task, hasResult: true }, tokens)));
  if (hand !== 'worker') return refused(task, lateCode(task, token, agent));
  const submitted: TaskState = {
    ...task,
    state: 'in_review',
    lease: null,
    outcome: 'submitted',
    hasResult: true,
  };
  return done(settled(used(submitted, tokens)));
}

function fail(task: TaskState, { token, tokens, counts }: CallOf<'fail'>, agent: Agent): Done {
  const hand = handingIn(task, token, agent);
  if (hand === 'stopped') {
    const after = settled(used(task, tokens));
    return tokens === 0 ? { task: after, code: 'ok', quiet: true } : done(after);
  }
  if (hand !== 'worker') return refused(task, lateCode(task, token, agent));
  const failed: TaskState = { ...used(counts ? counted(task) : task, tokens), outcome: 'failed' };
  return done(settled(returned(failed)));
}

function release(task: TaskState, { token }: CallOf<'release'>, agent: Agent): Done {
  const hand = handOf(task, token, agent);
  if (hand === 'reviewer') return { task: { ...task, lease: null }, code: 'ok', quiet: true };
  if (hand !== 'worker') return refused(task, lateCode(task, token, agent));
  return done(returned({ ...task, outcome: 'released' }));
}

/** Whoever handed in already is told where the task is now; anybody else that the lease is gone. */
function lateCode(task: TaskState, token: number, agent: Agent): string {
  const handedIn = task.outcome === 'submitted' || (task.outcome === 'stopped' && task.hasResult);
  const reviewing = handOf(task, token, agent) === 'reviewer';
  const told = (handedIn && isLast(task, token, agent) && !isFinished(task)) || reviewing;
  return told ? 'invalid_transition' : 'lease_lost';
}

function judge(task: TaskState, call: CallOf<'approve' | 'rework'>, agent: Agent): Done {
  const { lease } = task;
  if (hasWorked(task, agent.id)) return refused(task, 'self_review');
  if (call.attempt !== null && call.attempt !== task.attempts.length) return refused(task, 'stale_attempt');
  if (task.judged) return refused(task, 'verdict_already_recorded');
  if (lease?.purpose === 'review' && lease.agentId !== agent.id) return refused(task, 'already_claimed');
  if (task.state === 'blocked') return refused(task, 'task_blocked');
  if (task.state !== 'in_review') return refused(task, 'invalid_transition');
  if (call.token !== null && call.token !== lease?.token) return refused(task, 'lease_lost');
  const free: TaskState = { ...task, lease: null };
  if (call.type === 'rework' && call.broken)
    return done(settled({ ...free, reviewFailures: task.reviewFailures + 1 }));
  const judged: TaskState = { ...free, judged: true, claimedBy: null };
  if (call.type === 'approve') return done({ ...judged, state: 'done' });
  const { reworks, reworksEver } = task;
  return done(settled({ ...judged, state: 'rework', reworks: reworks + 1, reworksEver: reworksEver + 1 }));
}

function block(task: TaskState, agent: Agent): Done {
  const operator = agent.roles.includes('operator');
  const may = operator || agent.roles.includes('planner') || task.lease?.agentId === agent.id;
  if (!may) return refused(task, 'forbidden_role');
  if (task.state === 'blocked') return refused(task, 'task_blocked');
  if (isFinished(task)) return refused(task, 'invalid_transition');
  return done({ ...stopped(task), state: 'blocked', blockKind: 'other', blockedByOperator: operator });
}

function unblock(task: TaskState, call: CallOf<'unblock'>, agent: Agent): Done {
  const { trip, unblocks } = task;
  const operator = agent.roles.includes('operator');
  if (task.state !== 'blocked') return refused(task, 'invalid_transition');
  const grave = trip !== null && (trip.grave || unblocks >= LIMITS.unblocks);
  if (!operator && (task.blockedByOperator || grave)) return refused(task, 'escalation_required');
  if (call.to === 'in_review' && (!task.hasResult || task.judged)) return refused(task, 'invalid_transition');
  if (trip !== null && !operator && unblocks > 0 && !call.changes) return refused(task, 'nothing_changed');
  const started = { reworks: 0, errors: 0, reviewFailures: 0, trip: null, unblocks: unblocks + 1 };
  const lifted: TaskState = {
    ...task,
    state: call.to,
    blockKind: null,
    blockedByOperator: false,
    claimedBy: null,
    tokensUsed: call.resetTokens ? 0 : task.tokensUsed,
    ...(trip === null ? {} : started),
  };
  return overLimit(lifted) === null ? done(lifted) : refused(task, 'still_over_limit');
}

/** The commands that record a lease past its end before they do anything else, and whose lease that must be. */
export function meetsExpiry(task: TaskState, call: Call, agent: Agent): boolean {
  const { lease } = task;
  if (lease === null) return false;
  if (call.type === 'claim') return call.purpose === 'work' || !hasWorked(task, agent.id);
  return (
    (call.type === 'approve' || call.type === 'rework') &&
    lease.purpose === 'review' &&
    lease.agentId !== agent.id
  );
}

/** What the answer to a command shows. */
export function answered({ task, code, beside = {} }: Done): Fields | null {
  if (code !== 'ok') return null;
  return 'directive' in beside ? beside : { ...shown(task), ...beside };
}
