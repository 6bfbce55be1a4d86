import type { Breaker, BreakerState, Failure } from './types.js';

/** The longest a breaker rests between two probes, in seconds. */
const REST_MAX_SECONDS = 3_600;
/** How many failures are remembered at most, newest first: far more than any threshold needs. */
const FAILURES_MAX = 500;

/** How a breaker stands now. Half-open is read from the clock, never set by a timer. */
export function stateOf(breaker: Breaker, now: number): BreakerState {
  if (breaker.state !== 'open') return breaker.state;
  return breaker.halfOpenAt !== null && now >= breaker.halfOpenAt ? 'half_open' : 'open';
}

/** A breaker that never opened. An agent's has the agent's id, the fleet's the project's. */
export function closedBreaker(id: string, agentId: string | null, now: number): Breaker {
  return {
    id,
    scope: agentId === null ? 'fleet' : 'agent',
    agentId,
    state: 'closed',
    fingerprint: null,
    openedAt: null,
    halfOpenAt: null,
    openings: 0,
    probe: null,
    failures: [],
    trip: null,
    reason: null,
    updatedAt: now,
  };
}

/** The breaker open, for the first time or again: each time in a row it rests twice as long, up to an hour. */
export function opened(
  breaker: Breaker,
  fingerprint: string | null,
  reason: string,
  now: number,
  cooldownSeconds: number,
): Breaker {
  const seconds = Math.min(cooldownSeconds * 2 ** breaker.openings, REST_MAX_SECONDS);
  return {
    ...breaker,
    state: 'open',
    fingerprint,
    openedAt: breaker.openedAt ?? now,
    halfOpenAt: now + seconds * 1000,
    openings: breaker.openings + 1,
    probe: null,
    reason,
    updatedAt: now,
  };
}

/** The breaker closed, with nothing remembered of what opened it. */
export function closed(breaker: Breaker, now: number): Breaker {
  return { ...closedBreaker(breaker.id, breaker.agentId, now) };
}

/** Held open by a person until a person closes it. */
export function isolated(breaker: Breaker, reason: string, now: number): Breaker {
  return {
    ...breaker,
    state: 'isolated',
    openedAt: breaker.openedAt ?? now,
    halfOpenAt: null,
    probe: null,
    reason,
    updatedAt: now,
  };
}

/** The fleet's breaker with one more failure remembered, and those outside the window forgotten. */
export function remembering(fleet: Breaker, failure: Failure, windowSeconds: number): Breaker {
  const since = failure.at - windowSeconds * 1000;
  const failures = [failure, ...fleet.failures.filter((known) => known.at > since)].slice(0, FAILURES_MAX);
  return { ...fleet, failures, updatedAt: failure.at };
}

/** How many tasks, by how many agents, failed with one fingerprint in the window that is remembered. */
export function spread(
  fleet: Breaker,
  fingerprint: string,
): { readonly tasks: number; readonly agents: readonly string[] } {
  const same = fleet.failures.filter((failure) => failure.fingerprint === fingerprint);
  return {
    tasks: new Set(same.map((failure) => failure.taskId)).size,
    agents: [...new Set(same.map((failure) => failure.agentId))],
  };
}

/** Whole seconds until a breaker may let a probe through; at least 1. */
export function restSeconds(breaker: Breaker, now: number): number {
  return breaker.halfOpenAt === null ? 1 : Math.max(1, Math.ceil((breaker.halfOpenAt - now) / 1000));
}
