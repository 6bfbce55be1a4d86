import type { Json, JsonObject } from '../../../kernel/json.js';
import { isOptionalLimit, limitNames } from '../../guard/limits.js';
import type { Layer, OwnLimits } from '../../guard/types.js';
import { limitWireName, toMicros } from '../../guard/wire.js';

/** What a replay reads of an event. */
export interface ReplayEvent {
  readonly type: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly agentId: string | null;
  readonly command: string;
  readonly to: string | null;
  readonly counters: JsonObject | null;
  readonly data: JsonObject;
}

/** The counters of a task as its events state them. */
export interface Counts {
  attempt: number;
  reworks: number;
  errors: number;
  reviewFailures: number;
  /** Attempts since the last unblock. */
  starts: number;
  tokens: number;
  costMicros: number;
  unblocks: number;
}

/** A usage report as its event states it. */
export interface Spent {
  readonly iterations: number;
  readonly tokens: number;
  readonly costMicros: number;
}

/** The counters after an event. */
export function countsIn(counters: JsonObject | null): Counts {
  const from = counters ?? {};
  return {
    attempt: numberIn(from.attempt),
    reworks: numberIn(from.rework_count),
    errors: numberIn(from.error_count),
    reviewFailures: numberIn(from.review_failures),
    starts: numberIn(from.attempts_since_unblock),
    tokens: numberIn(from.tokens_used),
    costMicros: toMicros(numberIn(from.cost_usd)),
    unblocks: numberIn(from.unblock_count),
  };
}

/** What an event reports as used; nothing when it reports nothing. */
export function spentIn(data: JsonObject): Spent {
  const usage = objectIn(data.usage);
  const tokens = objectIn(usage.tokens);
  return {
    iterations: numberIn(usage.iterations),
    // A re-read cache is no new work, for the guard as here.
    tokens: numberIn(tokens.input) + numberIn(tokens.output) + numberIn(tokens.cache_write),
    costMicros: toMicros(numberIn(usage.cost_usd)),
  };
}

/** Limits that somebody set, as events state them. */
export function limitsIn(wire: Json | undefined): OwnLimits {
  const from = objectIn(wire);
  const limits: { -readonly [name in keyof OwnLimits]: OwnLimits[name] } = {};
  for (const name of limitNames()) {
    const value = from[limitWireName(name)];
    if (typeof value === 'number') limits[name] = name.endsWith('Micros') ? toMicros(value) : value;
    else if (value === null && isOptionalLimit(name)) limits[name] = null;
  }
  return limits;
}

/** A time in an event, in milliseconds since the epoch. */
export function timeIn(value: Json | undefined): number | null {
  return typeof value === 'string' ? Date.parse(value) : null;
}

/** An object in an event; an empty one where there is none. */
export function objectIn(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/** A number in an event; 0 where there is none. */
export function numberIn(value: Json | undefined): number {
  return typeof value === 'number' ? value : 0;
}

/** Where a replay stopped something. */
export interface Stop {
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly kind: Layer;
  readonly at: number;
  readonly value: number;
  readonly limit: number;
}

/** What a simulation found. */
export interface SimulationResult {
  /** The first stops, in order: a list of them all would have no bound. */
  readonly stopped: readonly Stop[];
  readonly stoppedCount: number;
  /** What the log did after the stops, and would not have done. */
  readonly saved: Spent & { readonly reworks: number };
  readonly readEvents: number;
}

/** The most that each counter has reached. */
export function toPeak(peak: Counts | undefined, counts: Counts): Counts {
  if (peak === undefined) return counts;
  return {
    attempt: Math.max(peak.attempt, counts.attempt),
    reworks: Math.max(peak.reworks, counts.reworks),
    errors: Math.max(peak.errors, counts.errors),
    reviewFailures: Math.max(peak.reviewFailures, counts.reviewFailures),
    starts: Math.max(peak.starts, counts.starts),
    tokens: Math.max(peak.tokens, counts.tokens),
    costMicros: Math.max(peak.costMicros, counts.costMicros),
    unblocks: Math.max(peak.unblocks, counts.unblocks),
  };
}
