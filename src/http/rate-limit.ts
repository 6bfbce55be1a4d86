import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../kernel/refusal.js';
import type { Gate } from './gates.js';

/** How much a key may do in a minute. */
export interface RateLimits {
  readonly requestsPerMinute: number;
  readonly createdTasksPerMinute: number;
}

/** The answer to one attempt to take from a budget. */
export interface Take {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Until the present window ends. */
  readonly resetMs: number;
  /** Until the same take would be allowed; zero when it was. */
  readonly retryMs: number;
}

interface Count {
  start: number;
  current: number;
  previous: number;
}

const WINDOW_MS = 60_000;
const WINDOW_SECONDS = WINDOW_MS / 1000;
const MAX_KEYS = 10_000;

/**
 * A sliding window for each key, estimated from two counts: the present window's, and the share of the last one that
 * the past minute still covers. Constant memory a key, and a bounded number of keys.
 */
export class SlidingWindow {
  readonly #counts = new Map<string, Count>();
  readonly #limit: number;
  readonly #maxKeys: number;

  constructor(limit: number, maxKeys = MAX_KEYS) {
    this.#limit = limit;
    this.#maxKeys = maxKeys;
  }

  /** The number of keys remembered. */
  get size(): number {
    return this.#counts.size;
  }

  /** Takes `cost` from the budget of `key`, or nothing when it is not there. */
  take(key: string, cost: number, nowMs: number): Take {
    const count = this.#countOf(key, nowMs);
    const elapsed = nowMs - count.start;
    const carried = count.previous * (1 - elapsed / WINDOW_MS);
    const used = count.current + carried;
    const resetMs = WINDOW_MS - elapsed;
    if (used + cost > this.#limit) {
      const remaining = Math.max(0, Math.floor(this.#limit - used));
      return { allowed: false, remaining, resetMs, retryMs: this.#waitFor(count, cost, elapsed) };
    }
    count.current += cost;
    return { allowed: true, remaining: Math.floor(this.#limit - used - cost), resetMs, retryMs: 0 };
  }

  #countOf(key: string, nowMs: number): Count {
    let count = this.#counts.get(key);
    if (count === undefined) {
      if (this.#counts.size >= this.#maxKeys) this.#forget(nowMs);
      count = { start: nowMs, current: 0, previous: 0 };
      this.#counts.set(key, count);
      return count;
    }
    const elapsed = nowMs - count.start;
    if (elapsed >= WINDOW_MS) {
      const next = elapsed < 2 * WINDOW_MS;
      count.previous = next ? count.current : 0;
      count.start = next ? count.start + WINDOW_MS : nowMs;
      count.current = 0;
    }
    return count;
  }

  #waitFor(count: Count, cost: number, elapsed: number): number {
    const room = this.#limit - cost;
    // Within this window only the last one's share gets smaller; after it, this one's.
    if (count.current <= room) return WINDOW_MS * (1 - (room - count.current) / count.previous) - elapsed;
    return WINDOW_MS - elapsed + WINDOW_MS * (1 - Math.max(0, room) / count.current);
  }

  #forget(nowMs: number): void {
    for (const [key, count] of this.#counts)
      if (nowMs - count.start >= 2 * WINDOW_MS) this.#counts.delete(key);
    const keep = Math.floor(this.#maxKeys * 0.9);
    for (const key of this.#counts.keys()) {
      if (this.#counts.size <= keep) break;
      this.#counts.delete(key);
    }
  }
}

/** Strangers are told apart by address; an IPv6 host owns a whole /64. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const groups = (address.split('::', 1)[0] ?? '').split(':').slice(0, 4).join(':');
  return groups === '' ? address : groups;
}

/** Charges requests; the two functions are for authentication, which knows who is asking. */
export interface Charges {
  readonly chargeAgent: Gate;
  readonly chargeStranger: Gate;
}

/** Sets up the budgets of requests and created tasks. */
export function limitRates(app: FastifyInstance, limits: RateLimits, nowMs: () => number): Charges {
  const agents = new SlidingWindow(limits.requestsPerMinute);
  const strangers = new SlidingWindow(limits.requestsPerMinute);
  const creations = new SlidingWindow(limits.createdTasksPerMinute);
  const policy = `"default";q=${limits.requestsPerMinute};w=${WINDOW_SECONDS}`;

  const charge = (window: SlidingWindow, key: string, reply: FastifyReply): Refusal | null => {
    const take = window.take(key, 1, nowMs());
    reply.header('ratelimit-policy', policy);
    reply.header('ratelimit', `"default";r=${take.remaining};t=${Math.ceil(take.resetMs / 1000)}`);
    return take.allowed ? null : tooMany(take, 'requests', limits.requestsPerMinute);
  };

  app.decorateRequest('chargeCreates', function chargeCreates(this: FastifyRequest, n: number) {
    const take = creations.take(this.actor?.agentId ?? networkOf(this.ip), n, nowMs());
    if (take.allowed) return null;
    if (n > limits.createdTasksPerMinute) return neverFits(n, limits.createdTasksPerMinute);
    return tooMany(take, 'created tasks', limits.createdTasksPerMinute);
  });

  return {
    chargeAgent: (request, reply) => charge(agents, request.actor?.agentId ?? networkOf(request.ip), reply),
    chargeStranger: (request, reply) => charge(strangers, networkOf(request.ip), reply),
  };
}

function tooMany(take: Take, what: string, limit: number): Refusal {
  const seconds = Math.max(1, Math.ceil(take.retryMs / 1000));
  return {
    code: 'rate_limited',
    detail: `No more than ${limit} ${what} a minute. There is room again in ${seconds} s.`,
    retryAfterSeconds: seconds,
    facts: { limit, window_seconds: WINDOW_SECONDS, remaining: take.remaining },
  };
}

function neverFits(n: number, limit: number): Refusal {
  return {
    code: 'rate_limited',
    detail: `${n} tasks at once are more than the ${limit} that may be created in a minute. Send them in smaller parts.`,
    retryable: false,
    retryAfterSeconds: WINDOW_SECONDS,
    facts: { limit, window_seconds: WINDOW_SECONDS },
  };
}
