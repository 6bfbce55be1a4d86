import { isFinished, LIMITS, type TaskState, type Trip } from './task.js';

/** Leases that end, and limits that stop a task: what follows from a command, and from no command. */

/** Ends whatever lease there is because the task is stopped under its holder. */
export function stopped(task: TaskState): TaskState {
  const { lease } = task;
  const free: TaskState = { ...task, lease: null, claimedBy: null };
  if (lease === null) return free;
  if (lease.purpose === 'work') return { ...free, outcome: 'stopped' };
  return { ...free, review: { agentId: lease.agentId, token: lease.token, stopped: true } };
}

/** Back to whoever comes next. */
export function returned(task: TaskState): TaskState {
  return { ...task, state: task.reworks > 0 ? 'rework' : 'pending', lease: null, claimedBy: null };
}

/** The lease ran out: work counts an error, a review counts a failed review. */
export function expired(task: TaskState): TaskState {
  if (task.lease?.purpose === 'review')
    return settled({ ...task, lease: null, reviewFailures: task.reviewFailures + 1 });
  return settled({ ...returned(counted(task)), outcome: 'lease_expired' });
}

/** One more error that counts. */
export function counted(task: TaskState): TaskState {
  return { ...task, errors: task.errors + 1, errorsEver: task.errorsEver + 1 };
}

/** With more tokens used. */
export function used(task: TaskState, tokens: number): TaskState {
  return { ...task, tokensUsed: task.tokensUsed + tokens };
}

/** Stops a task that has reached a limit. A trip that is open already only grows graver. */
export function settled(task: TaskState): TaskState {
  const { trip } = task;
  if (trip !== null) return trip.kind === 'token' ? { ...task, trip: graver(task, trip) } : task;
  const kind = overLimit(task);
  if (kind === null || task.state === 'blocked' || isFinished(task)) return task;
  const value = kind === 'token' ? task.tokensUsed : 0;
  const open = { kind, value, grave: isGrave(task, kind) };
  return { ...stopped(task), state: 'blocked', blockKind: kind, trips: task.trips + 1, trip: open };
}

/** The highest limit that is reached. Tokens may reach theirs; it is passing it that stops. */
export function overLimit(task: TaskState): Trip['kind'] | null {
  if (task.tokensUsed > LIMITS.tokens) return 'token';
  if (task.errors >= LIMITS.errors) return 'error';
  if (task.reworks >= LIMITS.reworks) return 'rework';
  return task.reviewFailures >= LIMITS.reviewFailures ? 'review' : null;
}

function graver(task: TaskState, trip: Trip): Trip {
  if (task.tokensUsed <= trip.value) return trip;
  return { ...trip, value: task.tokensUsed, grave: trip.grave || isGrave(task, trip.kind) };
}

/** Only an operator may lift it: far over its limit, or lifted too often before. */
function isGrave(task: TaskState, kind: Trip['kind']): boolean {
  return task.unblocks >= LIMITS.unblocks || (kind === 'token' && task.tokensUsed > LIMITS.tokens * 1.5);
}
