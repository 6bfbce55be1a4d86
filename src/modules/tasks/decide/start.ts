import { ok, type Refusal, type Result } from '../../../kernel/refusal.js';
import { openRunLayers, openTaskLayers } from '../../guard/evaluate.js';
import type { Verdict as GuardVerdict } from '../../guard/types.js';
import type { Run } from '../../runs/types.js';
import {
  type ClaimPurpose,
  type CommandOf,
  EXECUTOR_SEEN_SECONDS,
  type Lease,
  REASSIGN_PATIENCE_SECONDS,
  type Task,
} from '../types.js';
import { failedSo, onlyProbes, type Passage, passage, startProbes } from './breakers.js';
import type { QueueFilter } from './context.js';
import type { Draft } from './draft.js';
import { expireLease } from './expiry.js';
import { addedIterations, isKeptFrom, isTerminal, leaseFor, NO_USAGE } from './machine.js';
import * as refusal from './refusals.js';
import { missingRun, readRunGuard } from './runs.js';
import { readGuard, settle, settleRun, trip } from './settle.js';

/** One claim that was given. */
export interface Claim {
  readonly taskId: string;
  readonly lease: Lease;
  readonly guard: GuardVerdict;
}

/** Claims up to `max` tasks in claim order, passing over what this agent may not have. None is no refusal. */
export function claimNext(draft: Draft, command: CommandOf<'claim_next'>): Result<readonly Claim[]> {
  const { runId, purpose, labels } = command;
  const refused = runId === null ? null : namedRunRefusal(draft, runId, purpose);
  if (refused !== null) return { ok: false, refusal: refused };
  const gate = gateOf(draft, purpose);
  if (gate.refusal !== null) return { ok: false, refusal: gate.refusal };
  const filter = { purpose, runId, labels, agentId: draft.context.actor.agentId };
  const likely = gate.probesFleet ? take(draft, filter, command, gate, (task) => failedSo(draft, task)) : [];
  return ok(likely.length > 0 ? likely : take(draft, filter, command, gate, () => true));
}

/** Work passes under the breakers above tasks; a review never does. */
function gateOf(draft: Draft, purpose: ClaimPurpose): Passage {
  const { agentId } = draft.context.actor;
  return purpose === 'review' || agentId === null ? FREE : passage(draft, agentId);
}

const FREE: Passage = { refusal: null, probesFleet: false, probesAgent: false };

function take(
  draft: Draft,
  filter: QueueFilter,
  command: CommandOf<'claim_next'>,
  gate: Passage,
  wanted: (task: Task) => boolean,
): Claim[] {
  const claims: Claim[] = [];
  const { purpose } = command;
  const max = gate.probesFleet || gate.probesAgent ? 1 : command.max;
  for (const candidate of draft.context.view.queue(filter)) {
    const task = draft.taskOf(candidate.id);
    if (!wanted(task) || startRefusal(draft, task, purpose) !== null || keptForAnother(draft, task, purpose))
      continue;
    // What came into the queue after its run was closed, by an unblock or a late submission, is only claimed by its id.
    if (draft.runOf(task).state === 'closed') continue;
    if (purpose === 'work' && limitRefusal(draft, task) !== null) continue;
    claims.push(start(draft, task, purpose, command));
    startProbes(draft, draft.taskOf(task.id), gate);
    if (claims.length === max) break;
  }
  return claims;
}

/** Claims one task by its id: deliberate, so only what forbids it is said, and why. */
export function claim(draft: Draft, command: CommandOf<'claim'>): Result<readonly Claim[]> {
  let task = draft.taskOf(command.taskId);
  const purpose = command.purpose ?? purposeFor(draft, task);
  const { lease } = task;
  const { now, actor } = draft.context;
  if (purpose === 'review' && actor.agentId !== null && task.memory.workers.includes(actor.agentId)) {
    return { ok: false, refusal: refusal.selfReview(task) };
  }
  if (lease !== null && lease.kind === purpose && lease.expiresAt > now) {
    if (lease.agentId !== actor.agentId) return { ok: false, refusal: refusal.alreadyClaimed(draft, task) };
    return ok([{ taskId: task.id, lease, guard: readGuard(draft, task) }]);
  }
  if (lease !== null && lease.expiresAt <= now) task = expireLease(draft, task);
  const refused = startRefusal(draft, task, purpose);
  if (refused !== null) return { ok: false, refusal: refused };
  const gate = gateOf(draft, purpose);
  if (gate.refusal !== null) return { ok: false, refusal: gate.refusal };
  if (gate.probesFleet && !failedSo(draft, task)) return { ok: false, refusal: onlyProbes(draft) };
  const limited = purpose === 'work' ? limitRefusal(draft, task) : null;
  if (limited !== null) return { ok: false, refusal: limited };
  const given = start(draft, task, purpose, command);
  startProbes(draft, draft.taskOf(task.id), gate);
  return ok([given]);
}

/** An agent with several roles claims work unless it asks for review; by naming a task that is in review it does. */
function purposeFor(draft: Draft, task: Task): ClaimPurpose {
  const { roles } = draft.context.actor;
  if (!roles.includes('executor')) return 'review';
  return task.state === 'in_review' && roles.includes('reviewer') ? 'review' : 'work';
}

/** Why this agent may not start on this task now, or null. */
function startRefusal(draft: Draft, task: Task, purpose: ClaimPurpose): Refusal | null {
  const { actor, now } = draft.context;
  const agentId = actor.agentId ?? '';
  if (purpose === 'review') {
    if (isKeptFrom(task, agentId, purpose)) return refusal.selfReview(task);
    if (task.state === 'blocked') return refusal.taskBlocked(task);
    if (task.state !== 'in_review') return refusal.invalidTransition(task, 'claim');
    return task.lease === null ? null : refusal.alreadyClaimed(draft, task);
  }
  if (task.state === 'blocked') return refusal.taskBlocked(task);
  if (task.state === 'in_progress') return refusal.alreadyClaimed(draft, task);
  if (isTerminal(task.state) || task.state === 'in_review') return refusal.invalidTransition(task, 'claim');
  const refused = runRefusal(draft.runOf(task));
  if (refused !== null) return refused;
  if (task.unmet > 0) return refusal.dependencyUnmet(draft, task);
  if (isKeptFrom(task, agentId, purpose)) return refusal.excludedAgent(task);
  return task.readyAt > now ? refusal.notYetDue(task) : null;
}

/**
 * Change of hands: an executor that had a task sent back often enough is not offered it while another executor is about,
 * and not for longer than half an hour, so that a task is never without anybody.
 */
function keptForAnother(draft: Draft, task: Task, purpose: ClaimPurpose): boolean {
  const { actor, now, view } = draft.context;
  if (purpose === 'review' || actor.agentId === null) return false;
  const times = task.memory.sentBack[actor.agentId] ?? 0;
  if (times < draft.limitsOf(task).reassignAfter) return false;
  if (now - task.readyAt >= REASSIGN_PATIENCE_SECONDS * 1000) return false;
  return view
    .roster()
    .some(
      (agent) =>
        agent.isExecutor &&
        agent.id !== actor.agentId &&
        !task.memory.excluded.includes(agent.id) &&
        agent.lastSeenAt !== null &&
        now - agent.lastSeenAt < EXECUTOR_SEEN_SECONDS * 1000,
    );
}

/** A claim that names its run is told why nothing in it starts. */
function namedRunRefusal(draft: Draft, runId: string, purpose: ClaimPurpose): Refusal | null {
  const named = draft.run(runId);
  if (named === null) return missingRun(runId);
  if (purpose === 'review') return named.state === 'closed' ? refusal.runClosed(named) : null;
  settleRun(draft, named, readRunGuard(draft, named));
  return runRefusal(draft.runById(runId));
}

function runRefusal(run: Run): Refusal | null {
  if (run.state === 'tripped') return refusal.runTripped(run);
  return run.state === 'closed' ? refusal.runClosed(run) : null;
}

/**
 * A limit lowered from above, or a deadline that has passed, can already be over when work would start: then what it guards is
 * stopped instead, and that is the refusal.
 */
function limitRefusal(draft: Draft, task: Task): Refusal | null {
  const verdict = readGuard(draft, task);
  if (verdict.verdict !== 'deny') return null;
  if (openRunLayers(verdict).length > 0) {
    settleRun(draft, draft.runOf(task), verdict);
    return refusal.runTripped(draft.runOf(task));
  }
  const [open] = openTaskLayers(verdict);
  if (open === undefined) return null;
  trip(draft, task, open, verdict);
  return refusal.taskBlocked(draft.taskOf(task.id));
}

function start(
  draft: Draft,
  task: Task,
  purpose: ClaimPurpose,
  { leaseSeconds, sessionId }: Pick<CommandOf<'claim'>, 'leaseSeconds' | 'sessionId'>,
): Claim {
  const { actor, now } = draft.context;
  if (actor.agentId === null) throw new Error('the server claims nothing');
  const lease = leaseFor(
    task,
    actor.agentId,
    purpose,
    leaseSeconds,
    now,
    draft.limitsOf(task).maxAttemptSeconds,
  );
  if (purpose === 'review') {
    const lastReview = { token: lease.token, agentId: actor.agentId, stopped: false };
    draft.putQuietly({
      ...task,
      lease,
      leaseToken: lease.token,
      memory: { ...task.memory, lastReview },
    });
    draft.emit('task.review_claimed', task.id, {
      from: 'in_review',
      to: 'in_review',
      data: leaseFacts(task.attempt, lease),
    });
    return { taskId: task.id, lease, guard: readGuard(draft, draft.taskOf(task.id)) };
  }
  const number = task.attempt + 1;
  const { workers } = task.memory;
  draft.put({
    ...task,
    state: 'in_progress',
    attempt: number,
    claimedBy: actor.agentId,
    lease,
    leaseToken: lease.token,
    counters: { ...task.counters, attemptsSinceUnblock: task.counters.attemptsSinceUnblock + 1 },
    memory: {
      ...task.memory,
      workers: workers.includes(actor.agentId) ? workers : [...workers, actor.agentId],
      last: {
        number,
        agentId: actor.agentId,
        token: lease.token,
        outcome: 'in_progress',
        hasResult: false,
        judged: false,
        failedWith: task.memory.last?.failedWith ?? null,
        usage: NO_USAGE,
      },
    },
  });
  draft.attempts.push({
    taskId: task.id,
    number,
    agentId: actor.agentId,
    leaseToken: lease.token,
    sessionId,
    claimedAt: now,
    endedAt: null,
    outcome: 'in_progress',
    usage: NO_USAGE,
  });
  const run = draft.runOf(task);
  draft.countOnRun({ ...run, iterations: addedIterations(run.iterations, 1) });
  draft.emit('task.claimed', task.id, {
    from: task.state,
    to: 'in_progress',
    data: leaseFacts(number, lease),
  });
  return { taskId: task.id, lease, guard: settle(draft, task.id) };
}

function leaseFacts(attempt: number, lease: Lease) {
  return { attempt, lease_seconds: lease.seconds, lease_expires_at: new Date(lease.expiresAt).toISOString() };
}
