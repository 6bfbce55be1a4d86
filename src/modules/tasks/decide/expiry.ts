import { fingerprintOf } from '../../guard/fingerprint.js';
import type { AttemptError, CommandOf, Task } from '../types.js';
import { settleProbes } from './breakers.js';
import type { Draft } from './draft.js';
import { countedError, returned, withLast } from './machine.js';
import { autoRecover } from './recovery.js';
import { settle } from './settle.js';

/** Records that a lease ran out. Work: the attempt ends and one error counts. Review: one review failure counts. */
export function expireLease(draft: Draft, task: Task): Task {
  const { lease } = task;
  if (lease === null) return task;
  const { now } = draft.context;
  const agent = draft.context.view.agent(lease.agentId);
  const data = {
    attempt: task.attempt,
    holder: agent?.name ?? null,
    lease_expires_at: new Date(lease.expiresAt).toISOString(),
  };
  if (lease.kind === 'review') {
    draft.put({
      ...task,
      lease: null,
      counters: { ...task.counters, reviewFailures: task.counters.reviewFailures + 1 },
    });
    draft.emit('task.review_expired', task.id, { from: 'in_review', to: 'in_review', data });
  } else {
    const message = 'the lease ran out without a word from its holder';
    const error: AttemptError = {
      class: 'lease_expired',
      message,
      fingerprint: fingerprintOf('lease_expired', message),
      detail: null,
    };
    draft.attempts.push({
      taskId: task.id,
      number: task.attempt,
      outcome: 'lease_expired',
      endedAt: now,
      error,
    });
    const next = draft.put(
      returned(withLast(countedError(task), { outcome: 'lease_expired', failedWith: error }), now),
    );
    draft.emit('task.lease_expired', task.id, { from: 'in_progress', to: next.state, data });
  }
  settle(draft, task.id);
  // Here and not only after the command: whoever finds the lease past its end may be refused, or be the next probe.
  settleProbes(draft, draft.taskOf(task.id));
  return draft.taskOf(task.id);
}

/** The server's own command. A lease that was renewed, ended or replaced in the meantime is left alone. */
export function expire(draft: Draft, command: CommandOf<'expire'>): void {
  const task = draft.task(command.taskId);
  if (
    task?.lease == null ||
    task.lease.token !== command.leaseToken ||
    task.lease.expiresAt > draft.context.now
  )
    return;
  expireLease(draft, task);
}

/** The server's own command: a task whose time has come is offered to claims. Putting it again places it anew. */
export function wake(draft: Draft, command: CommandOf<'wake'>): void {
  const task = draft.task(command.taskId);
  const { now } = draft.context;
  if (task === null || task.lease !== null) return;
  if (task.memory.autoRecoverAt !== null && task.memory.autoRecoverAt <= now) autoRecover(draft, task);
  else if (task.readyAt <= now) draft.putQuietly(task);
}
