import { toWire } from '../../kernel/ids.js';
import type { Refusal, Result } from '../../kernel/refusal.js';
import type { BreakerCommand } from '../guard/types.js';
import { RUN_TRANSITIONS } from '../runs/transitions.js';
import type { RunCommand } from '../runs/types.js';
import { decideBreaker, settleBreakers } from './decide/breakers.js';
import type { Context } from './decide/context.js';
import { create } from './decide/create.js';
import { Draft } from './decide/draft.js';
import { update } from './decide/edit.js';
import { expire, wake } from './decide/expiry.js';
import * as refusal from './decide/refusals.js';
import { approve, rework } from './decide/review.js';
import { decideRun } from './decide/runs.js';
import { attachVerdicts } from './decide/settle.js';
import { escalate, split } from './decide/split.js';
import { type Claim, claim, claimNext } from './decide/start.js';
import { block, cancel } from './decide/stop.js';
import { unblock } from './decide/unblock.js';
import { reportUsage } from './decide/usage.js';
import { type Directive, fail, heartbeat, release, submit } from './decide/work.js';
import type { AnyCommand, Command, CommandType } from './types.js';

/** What a command leads to, beside the change of the rows. */
export type Outcome =
  | { readonly kind: 'task'; readonly taskId: string }
  | { readonly kind: 'created'; readonly taskIds: readonly string[] }
  | { readonly kind: 'claims'; readonly claims: readonly Claim[] }
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'breaker'; readonly breakerId: string }
  | { readonly kind: 'directive'; readonly taskId: string; readonly directive: Directive }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * A decision: the change, and what to answer. A refusal may still carry a change: what became true on the way to it (a lease
 * found past its end, a late result kept, the first refusal of an agent during a trip).
 */
export interface Decision {
  readonly draft: Draft;
  readonly outcome: Outcome;
}

/**
 * Decides one command over one view of the board. Pure: no I/O, no clock, no chance; refusals are values. The order in which
 * refusals are looked for is the domain's: role, not_found, then what the command's own rules say.
 */
export function decide(context: Context, command: AnyCommand): Decision {
  const draft = new Draft(context, command.type);
  if (isRunCommand(command)) {
    return refusable(
      draft,
      outcomeOf(decideRun(draft, command), (runId) => ({ kind: 'run', runId })),
    );
  }
  if (isBreakerCommand(command)) {
    return refusable(
      draft,
      outcomeOf(decideBreaker(draft, command), (breakerId) => ({ kind: 'breaker', breakerId })),
    );
  }
  const refused = doorRefusal(draft, command);
  const outcome = refused === null ? run(draft, command) : refusedWith(refused);
  if (outcome.kind !== 'refused') {
    settleBreakers(draft);
    attachVerdicts(draft);
    return { draft, outcome };
  }
  const kept = KEEPS_EVIDENCE.has(command.type) ? draft : new Draft(context, command.type);
  logRefusal(kept, command, outcome.refusal);
  attachVerdicts(kept);
  return { draft: kept, outcome };
}

/** A refused command of these leaves nothing behind. */
function refusable(draft: Draft, outcome: Outcome): Decision {
  return { draft: outcome.kind === 'refused' ? new Draft(draft.context, draft.command) : draft, outcome };
}

/** Whether a command is about a breaker. */
export function isBreakerCommand(command: AnyCommand): command is BreakerCommand {
  return command.type === 'isolate_breaker' || command.type === 'close_breaker';
}

/** Whether a command is about a run and not about tasks. */
export function isRunCommand(command: AnyCommand): command is RunCommand {
  return command.type in RUN_TRANSITIONS;
}

function doorRefusal(draft: Draft, command: Command): Refusal | null {
  const role = refusal.roleRefusal(draft.context, command);
  if (role !== null) return role;
  if (!('taskId' in command)) return null;
  const task = draft.task(command.taskId);
  if (task === null) return refusal.notFound(command.taskId);
  if (command.version !== undefined && command.version !== task.version) return refusal.staleVersion(task);
  if (command.expectedState !== undefined && command.expectedState !== task.state)
    return refusal.invalidTransition(task, command.type);
  return null;
}

function refusedWith(reason: Refusal): Outcome {
  return { kind: 'refused', refusal: reason };
}

function run(draft: Draft, command: Command): Outcome {
  switch (command.type) {
    case 'create':
      return outcomeOf(create(draft, command), (taskIds) => ({ kind: 'created', taskIds }));
    case 'claim_next':
      return outcomeOf(claimNext(draft, command), (claims) => ({ kind: 'claims', claims }));
    case 'claim':
      return outcomeOf(claim(draft, command), (claims) => ({ kind: 'claims', claims }));
    case 'heartbeat':
      return outcomeOf(heartbeat(draft, command), (directive) => ({
        kind: 'directive',
        taskId: command.taskId,
        directive,
      }));
    case 'expire':
      expire(draft, command);
      return { kind: 'task', taskId: command.taskId };
    case 'wake':
      wake(draft, command);
      return { kind: 'task', taskId: command.taskId };
    case 'update':
      return onTask(command, update(draft, command));
    case 'report_usage':
      return onTask(command, reportUsage(draft, command));
    case 'submit':
      return onTask(command, submit(draft, command));
    case 'fail':
      return onTask(command, fail(draft, command));
    case 'release':
      return onTask(command, release(draft, command));
    case 'approve':
      return onTask(command, approve(draft, command));
    case 'rework':
      return onTask(command, rework(draft, command));
    case 'block':
      return onTask(command, block(draft, command));
    case 'unblock':
      return onTask(command, unblock(draft, command));
    case 'split':
      return onTask(command, split(draft, command));
    case 'escalate':
      return onTask(command, escalate(draft, command));
    case 'cancel':
      return onTask(command, cancel(draft, command));
  }
}

function outcomeOf<T>(result: Result<T>, answer: (value: T) => Outcome): Outcome {
  return result.ok ? answer(result.value) : refusedWith(result.refusal);
}

function onTask(command: { readonly taskId: string }, result: Result<null>): Outcome {
  return outcomeOf(result, () => ({ kind: 'task', taskId: command.taskId }));
}

/**
 * The commands whose draft is kept when they are refused. They refuse before making any change of their own, so what the
 * draft holds then was true before and is only recorded: a lease found past its end, a deadline passed, a late result.
 */
const KEEPS_EVIDENCE: ReadonlySet<CommandType> = new Set([
  'claim',
  'claim_next',
  'submit',
  'fail',
  'approve',
  'rework',
]);

/** A refusal by an open trip is logged once for each agent and code, so that polling writes nothing. */
function logRefusal(draft: Draft, command: Command, { code }: Refusal): void {
  if (
    !('taskId' in command) ||
    (code !== 'task_blocked' && code !== 'run_tripped' && code !== 'escalation_required')
  )
    return;
  const task = draft.task(command.taskId);
  const agentId = draft.context.actor.agentId;
  if (task === null || agentId === null) return;
  const run = draft.runOf(task);
  const trip = code === 'run_tripped' ? run.memory.trip : task.memory.trip;
  const mark = `${agentId}:${code}`;
  const logged = code === 'run_tripped' ? run.memory.refused : task.memory.refused;
  if (trip === null || logged.includes(mark)) return;
  if (code === 'run_tripped')
    draft.countOnRun({ ...run, memory: { ...run.memory, refused: [...logged, mark] } });
  else draft.putQuietly({ ...task, memory: { ...task.memory, refused: [...logged, mark] } });
  draft.emit('guard.refused', task.id, {
    from: task.state,
    to: task.state,
    data: {
      code,
      refused_command: command.type satisfies CommandType,
      trip_id: toWire('trip', trip.id),
      kind: trip.kind,
    },
  });
}

export type { Claim, Context, Directive };
export { Draft };
