import { type Role, roleFor } from '../../../kernel/actor.js';
import { toWire } from '../../../kernel/ids.js';
import type { JsonObject } from '../../../kernel/json.js';
import type { NextAction, Refusal } from '../../../kernel/refusal.js';
import type { OwnLimits, TaskLimits, Trip } from '../../guard/types.js';
import { inUnits } from '../../guard/wire.js';
import type { Run } from '../../runs/types.js';
import { allowedCommands, TRANSITIONS } from '../transitions.js';
import type { Command, CommandType, Task } from '../types.js';
import type { Context } from './context.js';
import type { Draft } from './draft.js';

const onTask = (call: string, task: Task, role?: Role): NextAction => ({
  call,
  on: { kind: 'task', id: task.id },
  ...(role === undefined ? {} : { role }),
});

/** The role is checked at the door as well; here it holds for every way in. */
export function roleRefusal(context: Context, command: Command): Refusal | null {
  const { by } = TRANSITIONS[command.type];
  const { actor } = context;
  if (by.includes('server')) return actor.agentId === null ? null : forbidden(['operator']);
  if (actor.agentId === null || by.includes('holder')) return null;
  const roles =
    claimRoles(command) ?? by.filter((role): role is Role => role !== 'holder' && role !== 'server');
  return roleFor(actor, roles) === null ? forbidden(roles) : null;
}

/** A claim's role follows from what it is for. */
function claimRoles(command: Command): readonly Role[] | null {
  if (command.type !== 'claim' && command.type !== 'claim_next') return null;
  return command.purpose === null ? null : command.purpose === 'work' ? ['executor'] : ['reviewer'];
}

function forbidden(roles: readonly Role[]): Refusal {
  return {
    code: 'forbidden_role',
    detail: `This needs the role ${roles.join(' or ')}. Send it with the key of an agent that has it.`,
    facts: { required_roles: [...roles] },
  };
}

export function notFound(taskId: string): Refusal {
  return {
    code: 'not_found',
    detail: `There is no task ${toWire('task', taskId)} in this project. List what there is with GET /v1/tasks.`,
  };
}

export function selfReview(task: Task): Refusal {
  return {
    code: 'self_review',
    detail:
      'An agent that worked on any attempt of a task may not judge it. Leave the verdict to another reviewer, or to an operator who has not worked on it.',
    nextActions: [onTask('approve_task', task, 'reviewer'), onTask('rework_task', task, 'reviewer')],
  };
}

export function staleAttempt(task: Task, named: number): Refusal {
  return {
    code: 'stale_attempt',
    detail: `The verdict names attempt ${named}, but the task is at attempt ${task.attempt}. Read that attempt's result before judging it.`,
    facts: { attempt: task.attempt, state: task.state },
    nextActions: [onTask('get_task_brief', task)],
  };
}

export function verdictRecorded(task: Task): Refusal {
  return {
    code: 'verdict_already_recorded',
    detail: `Attempt ${task.attempt} already has its verdict; an attempt is judged once. The task is now ${task.state}.`,
    facts: { attempt: task.attempt, state: task.state, ...counts(task), ...tripOf(task) },
    nextActions: [onTask('get_task', task)],
  };
}

function counts(task: Task): JsonObject {
  return { rework_count: task.counters.reworkCount };
}

export function alreadyClaimed(draft: Draft, task: Task): Refusal {
  const { lease } = task;
  const { now, view } = draft.context;
  const left = lease === null ? 0 : Math.max(0, Math.ceil((lease.expiresAt - now) / 1000));
  const holder =
    lease === null
      ? null
      : { agent_id: toWire('agent', lease.agentId), name: view.agent(lease.agentId)?.name ?? null };
  return {
    code: 'already_claimed',
    detail: `${holder?.name ?? 'Another agent'} holds this task for ${left} more seconds. Claim the next task instead of waiting for this one.`,
    retryable: true,
    facts: {
      state: task.state,
      holder,
      lease_expires_at: lease === null ? null : new Date(lease.expiresAt).toISOString(),
      lease_seconds_left: left,
      holder_alive: left > 0,
    },
    nextActions: [{ call: 'claim_next_task' }],
  };
}

function tripOf(task: Task): JsonObject {
  const { trip } = task.memory;
  return trip === null ? {} : { trip: tripSummary(trip) };
}

function tripSummary(trip: Trip): JsonObject {
  return {
    id: toWire('trip', trip.id),
    kind: trip.kind,
    value: inUnits(trip.kind, trip.value),
    limit: inUnits(trip.kind, trip.limit),
    severity: trip.severity,
    action_required: trip.actionRequired,
  };
}

/** The task is blocked: by what, who may lift it and how, and that trying again changes nothing. */
export function taskBlocked(task: Task): Refusal {
  const { trip, blockedByOperator } = task.memory;
  const role: Role = trip?.severity === 'HIGH' || blockedByOperator ? 'operator' : 'planner';
  const why = task.block === null ? '' : `: ${task.block.kind} (${task.block.reason})`;
  const who = role === 'operator' ? 'Only an operator can lift it' : 'A planner can lift it';
  return {
    code: 'task_blocked',
    detail: `The task is blocked${why}. Trying again changes nothing. ${who} with /unblock, giving a reason.`,
    retryable: false,
    facts: {
      state: task.state,
      block_reason: task.block === null ? null : { kind: task.block.kind, reason: task.block.reason },
      ...counts(task),
      ...tripOf(task),
    },
    nextActions: [onTask('unblock_task', task, role), onTask('get_task_guard', task)],
  };
}

/** The command does not fit the state. Says which would. */
export function invalidTransition(task: Task, command: CommandType): Refusal {
  const allowed = allowedCommands(task.state);
  const { from } = TRANSITIONS[command];
  return {
    code: 'invalid_transition',
    detail: `The task is ${task.state}; ${command} needs it ${from.join(' or ')}.`,
    facts: { state: task.state, allowed_commands: allowed },
    nextActions: [onTask('get_task', task)],
  };
}

export function leaseLost(task: Task): Refusal {
  return {
    code: 'lease_lost',
    detail:
      'This lease token no longer holds the task: the lease ran out, was given back, or the task went on without it. What you sent was kept as evidence if it was a result. Stop working on it and claim the next task.',
    retryable: false,
    facts: { state: task.state, attempt: task.attempt },
    nextActions: [{ call: 'claim_next_task' }],
  };
}

export function runTripped(run: Run): Refusal {
  const { trip } = run.memory;
  const role: Role = trip?.severity === 'HIGH' ? 'operator' : 'planner';
  return {
    code: 'run_tripped',
    detail: `The run "${run.name}" has reached its ${trip?.kind ?? 'iteration'} limit; nothing in it starts until ${role === 'operator' ? 'an operator' : 'a planner'} recovers it.`,
    retryable: false,
    facts: trip === null ? {} : { run_id: toWire('run', run.id), trip: tripSummary(trip) },
    nextActions: [{ call: 'recover_run', on: { kind: 'run', id: run.id }, role }],
  };
}

export function runClosed(run: Run): Refusal {
  return {
    code: 'run_closed',
    detail: `The run "${run.name}" is closed; nothing in it starts any more. Use another run, or make one with POST /v1/runs.`,
    facts: { run_id: toWire('run', run.id) },
    nextActions: [{ call: 'create_run', role: 'planner' }],
  };
}

export function dependencyUnmet(draft: Draft, task: Task): Refusal {
  const open = task.dependsOn.filter((id) => draft.task(id)?.state !== 'done');
  return {
    code: 'dependency_unmet',
    detail: `The task waits for ${task.unmet} other task(s). It becomes claimable by itself when they are done.`,
    retryable: true,
    facts: { depends_on: open.map((id) => toWire('task', id)) },
    nextActions: [{ call: 'claim_next_task' }],
  };
}

export function notYetDue(task: Task): Refusal {
  return {
    code: 'not_yet_due',
    detail: `The task may not start before ${new Date(task.readyAt).toISOString()}.`,
    retryable: true,
    facts: { ready_at: new Date(task.readyAt).toISOString() },
    nextActions: [{ call: 'claim_next_task' }],
  };
}

export function excludedAgent(task: Task): Refusal {
  const assigned = task.memory.assigned !== null;
  return {
    code: 'excluded_agent',
    detail: assigned
      ? 'A planner has given this task to another agent. Claim the next task.'
      : 'This agent was excluded from this task. Claim the next task.',
    retryable: false,
    nextActions: [{ call: 'claim_next_task' }],
  };
}

export function staleVersion(task: Task): Refusal {
  return {
    code: 'stale_version',
    detail: `The task is at version ${task.version}, not at the one you named. Read it again, then send the change that still fits.`,
    facts: { version: task.version, state: task.state },
    nextActions: [onTask('get_task', task)],
  };
}

export function escalationRequired(task: Task): Refusal {
  return {
    code: 'escalation_required',
    detail:
      'This block is for an operator: its trip is of HIGH severity, its unblocks are used up, or an operator set it. A planner cannot lift it.',
    retryable: false,
    facts: { unblock_count: task.counters.unblockCount, ...tripOf(task) },
    nextActions: [onTask('unblock_task', task, 'operator')],
  };
}

/** Another task has its dedupe key, or its place. */
export function duplicate(holder: Task): Refusal {
  return {
    code: 'duplicate',
    detail: `${toWire('task', holder.id)} holds this dedupe_key and is ${holder.state}. Work with that task, or name it in supersedes to replace it.`,
    facts: { task_id: toWire('task', holder.id), state: holder.state },
    nextActions: [{ call: 'get_task', on: { kind: 'task', id: holder.id } }],
  };
}

/** A limit that only a person may raise, because it is what makes the others hold. */
export function operatorsLimit(): Refusal {
  return {
    code: 'forbidden_role',
    detail: 'max_unblocks is raised only by an operator. Leave it out, or ask an operator.',
    facts: { required_roles: ['operator'] },
  };
}

/** Whether a planner gives itself more unblocks than would be in force without its word: then no person would be asked. */
export function raisesUnblocks(draft: Draft, own: OwnLimits, inForce: TaskLimits): boolean {
  const { actor } = draft.context;
  if (actor.agentId === null || actor.roles.includes('operator')) return false;
  return own.maxUnblocks !== undefined && own.maxUnblocks > inForce.maxUnblocks;
}
