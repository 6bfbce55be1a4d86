import { ok, type Refusal, type Result } from '../../../kernel/refusal.js';
import { mustEscalate } from '../../guard/recovery.js';
import type { Trip } from '../../guard/types.js';
import type { CommandOf, Task } from '../types.js';
import { closeTrip } from './closing.js';
import { blockDependants } from './dependencies.js';
import type { Draft } from './draft.js';
import { isTerminal, stopWork } from './machine.js';
import * as refusal from './refusals.js';

/** Stops a task by hand. Its holder may still hand in what it has. */
export function block(draft: Draft, command: CommandOf<'block'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  const { actor } = draft.context;
  const plans = actor.roles.includes('planner') || actor.roles.includes('operator');
  if (!plans && task.lease?.agentId !== actor.agentId) return { ok: false, refusal: notHolder() };
  if (task.state === 'blocked') return { ok: false, refusal: refusal.taskBlocked(task) };
  if (isTerminal(task.state)) return { ok: false, refusal: refusal.invalidTransition(task, 'block') };
  const stopped = stopWork(draft, task);
  draft.put({
    ...stopped,
    state: 'blocked',
    block: { kind: command.kind, reason: command.reason },
    memory: { ...stopped.memory, blockedByOperator: actor.roles.includes('operator') },
  });
  draft.emit('task.blocked', task.id, {
    from: task.state,
    to: 'blocked',
    reason: command.reason,
    data: { kind: command.kind },
  });
  return ok(null);
}

function notHolder(): Refusal {
  return {
    code: 'forbidden_role',
    detail: 'A task is blocked by the agent that holds it, or by a planner or operator.',
    facts: { required_roles: ['planner', 'operator'] },
  };
}

/** Gives a task up for good. */
export function cancel(draft: Draft, command: CommandOf<'cancel'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  if (isTerminal(task.state)) return { ok: false, refusal: refusal.invalidTransition(task, 'cancel') };
  end(draft, task, command.reason);
  blockDependants(draft, task.id);
  return ok(null);
}

/** Ends a task as cancelled. What its trip asks of whoever goes on with it is remembered. */
export function end(draft: Draft, task: Task, reason: string): void {
  const { now, actor } = draft.context;
  draft.putQuietly(stopWork(draft, task));
  if (task.memory.trip !== null) closeTrip(draft, task.memory.trip, { strategy: 'terminate', reason });
  const stopped = draft.taskOf(task.id);
  draft.put({
    ...stopped,
    state: 'cancelled',
    block: null,
    finishedAt: now,
    memory: { ...stopped.memory, trip: null, cancelledUnder: stopped.memory.trip },
  });
  draft.emit('task.cancelled', task.id, {
    from: task.state,
    to: 'cancelled',
    reason,
    data: { by: actor.name },
  });
}

/** The trip that a recovery of a task must answer for: the open one, or the one it was given up under. */
export function tripToAnswerFor({ memory }: Task): Trip | null {
  return memory.trip ?? memory.cancelledUnder ?? null;
}

/** The trip that blocks a task. One that is half-open blocks nothing: what is lifted then is a block by hand. */
export function blockingTrip({ memory }: Task): Trip | null {
  return memory.trip?.state === 'open' ? memory.trip : null;
}

/** Whether only an operator may lift what holds, or held, the task: an operator's own block, or a trip that is grave or used up. */
export function needsOperator(draft: Draft, task: Task, trip: Trip | null): boolean {
  return (
    task.memory.blockedByOperator ||
    mustEscalate({
      trip,
      recoveries: task.counters.unblockCount,
      maxRecoveries: draft.limitsOf(task).maxUnblocks,
    })
  );
}
