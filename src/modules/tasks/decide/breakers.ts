import { toWire } from '../../../kernel/ids.js';
import { ok, type Refusal, type Result, refuse } from '../../../kernel/refusal.js';
import { closed, isolated, opened, remembering, restSeconds, spread, stateOf } from '../../guard/breaker.js';
import type { Breaker, BreakerCommand, Trip } from '../../guard/types.js';
import type { AttemptError, Task } from '../types.js';
import { closeTrip } from './closing.js';
import type { Draft } from './draft.js';

/** What the breakers above tasks say to a start of work: a refusal, or which probe it would be. */
export interface Passage {
  readonly refusal: Refusal | null;
  /** The start would be the one probe of the fleet's breaker: on a task that failed so. */
  readonly probesFleet: boolean;
  readonly probesAgent: boolean;
}

/** Whether work may start at all under the fleet's breaker and the agent's own. */
export function passage(draft: Draft, agentId: string): Passage {
  const { now } = draft.context;
  const fleet = draft.fleetBreaker();
  const own = draft.agentBreaker(agentId);
  const shut = (breaker: Breaker) => {
    const state = stateOf(breaker, now);
    return state === 'open' || state === 'isolated' || (state === 'half_open' && breaker.probe !== null);
  };
  const refusal = shut(fleet) ? fleetOpen(fleet, now) : shut(own) ? agentOpen(own, now) : null;
  return {
    refusal,
    probesFleet: stateOf(fleet, now) === 'half_open',
    probesAgent: stateOf(own, now) === 'half_open',
  };
}

function fleetOpen(fleet: Breaker, now: number): Refusal {
  if (fleet.state === 'isolated') return held(fleet, 'No work starts in this project');
  const seconds = restSeconds(fleet, now);
  return {
    code: 'fleet_breaker_open',
    detail: `Many tasks failed alike (${fleet.fingerprint ?? 'unknown'}), so no work starts until one probe succeeds. Ask again in ${seconds} seconds.`,
    retryable: true,
    retryAfterSeconds: seconds,
    facts: { fingerprint: fleet.fingerprint, state: stateOf(fleet, now) },
    nextActions: [{ call: 'list_breakers', role: 'operator' }],
  };
}

function agentOpen(own: Breaker, now: number): Refusal {
  if (own.state === 'isolated') return held(own, 'This agent starts no work');
  const seconds = restSeconds(own, now);
  return {
    code: 'agent_breaker_open',
    detail: `This agent cannot work (${own.reason ?? own.fingerprint ?? 'unknown'}). It may try one task in ${seconds} seconds, or an operator closes its breaker.`,
    retryable: true,
    retryAfterSeconds: seconds,
    facts: { state: stateOf(own, now) },
    nextActions: [{ call: 'close_breaker', on: { kind: 'breaker', id: own.id }, role: 'operator' }],
  };
}

function held(breaker: Breaker, what: string): Refusal {
  return {
    code: 'isolated',
    detail: `${what} until an operator closes the breaker: ${breaker.reason ?? 'no reason given'}.`,
    retryable: false,
    nextActions: [{ call: 'close_breaker', on: { kind: 'breaker', id: breaker.id }, role: 'operator' }],
  };
}

/** While the fleet is probed, only a task that failed so may be claimed by its id. */
export function onlyProbes(draft: Draft): Refusal {
  return fleetOpen(draft.fleetBreaker(), draft.context.now);
}

/** Whether a task is one of those whose failures opened the fleet's breaker. */
export function failedSo(draft: Draft, task: Task): boolean {
  return task.memory.last?.failedWith?.fingerprint === draft.fleetBreaker().fingerprint;
}

/** Notes that an attempt is the probe of whatever breaker is half-open above it. */
export function startProbes(draft: Draft, task: Task, { probesFleet, probesAgent }: Passage): void {
  const probe = { taskId: task.id, attempt: task.attempt };
  if (probesFleet) putProbe(draft, draft.fleetBreaker(), probe);
  if (probesAgent && task.claimedBy !== null) putProbe(draft, draft.agentBreaker(task.claimedBy), probe);
}

function putProbe(draft: Draft, breaker: Breaker, probe: NonNullable<Breaker['probe']>): void {
  const next: Breaker = { ...breaker, probe, updatedAt: draft.context.now };
  draft.breakers.set(next.id, next);
  draft.emitOfBreaker('breaker.probed', next);
}

/**
 * Remembers a failure for the fleet and opens what it opens. Answers whether it counts on its task: while the fleet's breaker
 * is not closed, failures of that kind are nobody's fault.
 */
export function noteFailure(draft: Draft, task: Task, agentId: string, error: AttemptError): boolean {
  const fleet = draft.fleetBreaker();
  const { now, policies } = draft.context;
  if (error.class !== 'error') return false;
  if (stateOf(fleet, now) !== 'closed') return fleet.fingerprint !== error.fingerprint;
  const failure = { fingerprint: error.fingerprint, taskId: task.id, agentId, at: now };
  const remembered = remembering(fleet, failure, policies.fleetWindowSeconds);
  draft.breakers.set(remembered.id, remembered);
  const { tasks, agents } = spread(remembered, error.fingerprint);
  if (tasks < policies.fleetThreshold) return true;
  const reason = `${tasks} tasks failed alike within ${policies.fleetWindowSeconds} seconds`;
  if (agents.length > 1)
    open(draft, remembered, error.fingerprint, reason, { value: tasks, limit: policies.fleetThreshold });
  else if (draft.agentBreaker(agentId).state === 'closed') {
    open(draft, draft.agentBreaker(agentId), error.fingerprint, reason, {
      value: tasks,
      limit: policies.fleetThreshold,
    });
  }
  return true;
}

/** `fatal` says that this agent cannot work, whatever the task. */
export function openAgentBreaker(draft: Draft, agentId: string, error: AttemptError): void {
  const own = draft.agentBreaker(agentId);
  if (own.state === 'closed') open(draft, own, error.fingerprint, error.message, { value: 1, limit: 1 });
}

function open(
  draft: Draft,
  breaker: Breaker,
  fingerprint: string,
  reason: string,
  reading: { value: number; limit: number },
): void {
  const { now, policies, newId } = draft.context;
  const trip: Trip = {
    id: newId(),
    scope: 'fleet',
    kind: breaker.scope,
    taskId: null,
    runId: null,
    ...reading,
    overPercent: 0,
    severity: 'MEDIUM',
    actionRequired: 'AUTOMATIC_RECOVERY',
    state: 'open',
    layers: [],
    openedAt: now,
    closedAt: null,
    resolution: null,
  };
  draft.trips.set(trip.id, trip);
  draft.trip ??= trip;
  const next = { ...opened(breaker, fingerprint, reason, now, policies.cooldownSeconds), trip };
  draft.breakers.set(next.id, next);
  draft.emitOfBreaker('breaker.opened', next, { reason });
  draft.emitOfBreaker('trip.opened', next, {
    reason,
    data: { trip_id: toWire('trip', trip.id), kind: trip.kind },
  });
}

/** After each command: the probes of every task it changed. */
export function settleBreakers(draft: Draft): void {
  for (const task of [...draft.tasks.values()]) settleProbes(draft, task);
}

/**
 * A probe whose attempt has ended closes its breaker by a submission, opens it again for twice as long by a failure, and in
 * every other end only gives its place back. An agent's own probe may be an earlier attempt than the last.
 */
export function settleProbes(draft: Draft, task: Task): void {
  const above = [draft.fleetBreaker(), ...task.memory.workers.map((id) => draft.agentBreaker(id))];
  for (const breaker of above) if (breaker.probe?.taskId === task.id) settleProbe(draft, breaker, task);
}

function settleProbe(draft: Draft, breaker: Breaker, task: Task): void {
  const { now, policies } = draft.context;
  const { last } = task.memory;
  if (last === null || breaker.probe === null) return;
  const isProbe = last.number === breaker.probe.attempt;
  if (isProbe && last.outcome === 'in_progress') return;
  if (isProbe && last.outcome === 'submitted') {
    closeBreaker(draft, breaker, 'its probe succeeded');
    return;
  }
  const failed =
    isProbe &&
    last.outcome === 'failed' &&
    (last.failedWith?.class === 'error' || last.failedWith?.class === 'fatal');
  const next: Breaker = failed
    ? {
        ...opened(breaker, breaker.fingerprint, 'its probe failed', now, policies.cooldownSeconds),
        trip: breaker.trip,
      }
    : { ...breaker, probe: null, updatedAt: now };
  draft.breakers.set(next.id, next);
  if (failed) draft.emitOfBreaker('breaker.opened', next, { reason: 'its probe failed' });
}

/** Closes a breaker and its trip. */
export function closeBreaker(draft: Draft, breaker: Breaker, reason: string): void {
  const { now } = draft.context;
  const next = closed(breaker, now);
  draft.breakers.set(next.id, next);
  draft.emitOfBreaker('breaker.closed', next, { reason });
  if (breaker.trip !== null) closeTrip(draft, breaker.trip, { strategy: 'reset', reason });
}

/** An operator holds a breaker open, or closes it, whatever it would do by itself. */
export function decideBreaker(draft: Draft, command: BreakerCommand): Result<string> {
  const { actor, now, view } = draft.context;
  if (!actor.roles.includes('operator')) {
    return refuse('forbidden_role', 'Breakers are handled by an operator.', {
      facts: { required_roles: ['operator'] },
    });
  }
  const { breakerId, reason } = command;
  const isFleet = breakerId === actor.projectId;
  if (!isFleet && view.agent(breakerId) === null) {
    return refuse('not_found', 'There is no such breaker in this project. List them with GET /v1/breakers.', {
      nextActions: [{ call: 'list_breakers', role: 'operator' }],
    });
  }
  const breaker = isFleet ? draft.fleetBreaker() : draft.agentBreaker(breakerId);
  if (command.type === 'isolate_breaker') {
    const held = isolated(breaker, reason, now);
    draft.breakers.set(held.id, held);
    draft.emitOfBreaker('breaker.isolated', held, { reason });
  } else if (breaker.state !== 'closed') closeBreaker(draft, breaker, reason);
  return ok(breakerId);
}
