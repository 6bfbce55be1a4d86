import type { ClaimPurpose, Counters, Lease, Task, TaskState, Usage } from '../types.js';
import type { Draft } from './draft.js';

/** No usage at all. */
export const NO_USAGE: Usage = {
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  costMicros: 0,
  iterations: 0,
  contextTokens: null,
};

/** The most that a counter holds: a number of either side, and for iterations the database's column. */
const COUNT_MAX = Number.MAX_SAFE_INTEGER;
const ITERATIONS_MAX = 2_147_483_647;

/** What was reported is added without end; a counter that is full stays full, so that its row can always be read and written. */
export function added(count: number, more: number): number {
  return Math.min(count + more, COUNT_MAX);
}

/** Likewise for iterations. */
export function addedIterations(count: number, more: number): number {
  return Math.min(count + more, ITERATIONS_MAX);
}

/** Token counts of two kinds of report, kind by kind. */
export function addedTokens(a: Usage['tokens'], b: Usage['tokens']): Usage['tokens'] {
  return {
    input: added(a.input, b.input),
    output: added(a.output, b.output),
    cacheRead: added(a.cacheRead, b.cacheRead),
    cacheWrite: added(a.cacheWrite, b.cacheWrite),
  };
}

/** Nothing counted yet. */
export const NO_COUNTERS: Counters = {
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

/** Done or cancelled: nothing changes it any more. */
export function isTerminal(state: TaskState): boolean {
  return state === 'done' || state === 'cancelled';
}

/** A dedupe key is held until its task is done, or another takes its place. */
export function holdsDedupeKey(task: Task): boolean {
  return task.dedupeKey !== null && task.state !== 'done' && task.supersededBy === null;
}

/** Where a task waits: offered to claims (`queue`), and when the server must look at it by itself (`dueAt`). */
export function placementOf(
  task: Task,
  now: number,
): { queue: ClaimPurpose | null; rank: number; dueAt: number | null } {
  const rank = task.priority * 2 + (task.state === 'pending' ? 1 : 0);
  if (task.lease !== null) return { queue: null, rank, dueAt: task.lease.expiresAt };
  if (task.state === 'in_review') return { queue: 'review', rank, dueAt: null };
  if (task.state === 'blocked') return { queue: null, rank, dueAt: task.memory.autoRecoverAt };
  if ((task.state !== 'pending' && task.state !== 'rework') || task.unmet > 0)
    return { queue: null, rank, dueAt: null };
  return task.readyAt > now
    ? { queue: null, rank, dueAt: task.readyAt }
    : { queue: 'work', rank, dueAt: null };
}

/** Whether a task is not for this agent whatever else changes: it worked on what it would review, or a planner said so. */
export function isKeptFrom({ memory }: Task, agentId: string, purpose: ClaimPurpose): boolean {
  if (purpose === 'review') return memory.workers.includes(agentId);
  return memory.excluded.includes(agentId) || (memory.assigned !== null && memory.assigned !== agentId);
}

/** A new lease on a task, with the next token. No lease lasts beyond `maxAttemptSeconds`. */
export function leaseFor(
  task: Task,
  agentId: string,
  kind: ClaimPurpose,
  seconds: number,
  now: number,
  maxSeconds: number,
): Lease {
  const lasts = Math.min(seconds, maxSeconds);
  return {
    kind,
    agentId,
    token: task.leaseToken + 1,
    seconds,
    startedAt: now,
    expiresAt: now + lasts * 1000,
  };
}

/** The lease after a sign of life, still within the longest time an attempt or review may take. */
export function extended(lease: Lease, now: number, maxSeconds: number): Lease {
  const end = Math.min(now + lease.seconds * 1000, lease.startedAt + maxSeconds * 1000);
  return { ...lease, expiresAt: Math.max(end, lease.expiresAt) };
}

/** Ends whatever lease a task has because the task is stopped under its holder. The attempt ends as `stopped`. */
export function stopWork(draft: Draft, task: Task): Task {
  const { lease } = task;
  if (lease?.kind === 'work') {
    draft.attempts.push({
      taskId: task.id,
      number: task.attempt,
      outcome: 'stopped',
      endedAt: draft.context.now,
    });
    return withLast({ ...task, lease: null, claimedBy: null }, { outcome: 'stopped' });
  }
  const { lastReview } = task.memory;
  const memory =
    lease === null || lastReview === null
      ? task.memory
      : { ...task.memory, lastReview: { ...lastReview, stopped: true } };
  return { ...task, lease: null, claimedBy: null, memory };
}

/** The task with something of its last attempt changed. */
export function withLast(task: Task, change: Partial<NonNullable<Task['memory']['last']>>): Task {
  const { last } = task.memory;
  return last === null ? task : { ...task, memory: { ...task.memory, last: { ...last, ...change } } };
}

/** Back to whoever comes next, after a delay if one is asked: `rework` when it was ever sent back since the last unblock. */
export function returned(task: Task, now: number, delaySeconds = 0): Task {
  return {
    ...task,
    state: task.counters.reworkCount > 0 ? 'rework' : 'pending',
    lease: null,
    claimedBy: null,
    readyAt: readyFrom(task, now + delaySeconds * 1000),
  };
}

/** When a task may start that could otherwise start at `at`: not before the time it was given. */
export function readyFrom(task: Pick<Task, 'notBefore'>, at: number): number {
  return Math.max(at, task.notBefore ?? at);
}

/** The task with one more counted error. */
export function countedError(task: Task): Task {
  const { counters } = task;
  return {
    ...task,
    counters: { ...counters, errorCount: counters.errorCount + 1, errorTotal: counters.errorTotal + 1 },
  };
}

/** The sum of two usage reports. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    tokens: addedTokens(a.tokens, b.tokens),
    costMicros: added(a.costMicros, b.costMicros),
    iterations: addedIterations(a.iterations, b.iterations),
    contextTokens: b.contextTokens ?? a.contextTokens,
  };
}
