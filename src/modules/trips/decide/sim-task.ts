import type { OwnLimits, TaskCounters } from '../../guard/types.js';
import {
  type Counts,
  countsIn,
  limitsIn,
  numberIn,
  objectIn,
  type ReplayEvent,
  type Stop,
} from './replay.js';

/** A task as a simulation has it. */
export interface SimTask {
  readonly id: string;
  own: OwnLimits;
  /** As the log has it. */
  state: string;
  /** The counters as the log had them last. */
  log: Counts;
  /** The counters as they would be. */
  readonly counts: Counts;
  submitted: boolean;
  fatalBy: readonly string[];
  /** Stopped here, by which layer. */
  stop: Stop['kind'] | null;
  /** Not started here, because its run was stopped. */
  starved: boolean;
  /** The last attempt that was under way, or over, when it stopped. */
  stopAttempt: number;
}

const NO_LIMITS: OwnLimits = {};

/** A task as its first event has it; what it replaces hands its spending on. */
export function simTask(
  id: string,
  { data, counters, to }: ReplayEvent,
  replaced: SimTask | undefined,
): SimTask {
  const log = countsIn(counters);
  const { tokens, costMicros } = replaced?.counts ?? log;
  const own = limitsIn(data.limits);
  return {
    id,
    own: Object.keys(own).length === 0 ? NO_LIMITS : own,
    state: to ?? 'pending',
    log,
    counts: { ...log, tokens, costMicros },
    submitted: false,
    fatalBy: [],
    stop: null,
    starved: false,
    stopAttempt: 0,
  };
}

/** Whether a task is held up here while the log goes on with it. */
export function isHeld({ stop, starved }: SimTask): boolean {
  return stop !== null || starved;
}

/**
 * Whether an event would not have happened. Held up, a task ignores what the log goes on doing; not what the log's own stop
 * did not prevent either, such as a late report of what was under way.
 */
export function isIgnored(task: SimTask, { data }: ReplayEvent, wasStopped: boolean): boolean {
  return isHeld(task) && !(wasStopped && numberIn(data.attempt) <= task.stopAttempt);
}

/** Counts on a task what the log counted. */
export function countOn({ counts }: SimTask, before: Counts, after: Counts): void {
  counts.reworks += Math.max(0, after.reworks - before.reworks);
  counts.reviewFailures += Math.max(0, after.reviewFailures - before.reviewFailures);
  counts.starts += Math.max(0, after.starts - before.starts);
  counts.tokens += Math.max(0, after.tokens - before.tokens);
  counts.costMicros += Math.max(0, after.costMicros - before.costMicros);
  // A probe that succeeds forgets the errors before it.
  counts.errors =
    after.errors < before.errors
      ? Math.min(counts.errors, after.errors)
      : counts.errors + after.errors - before.errors;
}

/** The agents that reported `fatal`, with the one of this event. */
export function fatalIn(task: SimTask, { type, data, agentId }: ReplayEvent): readonly string[] {
  const isFatal = type === 'task.failed' && objectIn(data.error).class === 'fatal' && agentId !== null;
  return isFatal ? [...new Set([...task.fatalBy, agentId])] : task.fatalBy;
}

/** The counters that an unblock after a trip begins with. */
export function unblocked(counts: Counts, tokens: number): Counts {
  return { ...counts, reworks: 0, errors: 0, reviewFailures: 0, starts: 0, tokens };
}

/** What the guard reads of a task: the attempt under way, or the one that would start next. */
export function countersOf({ state, counts }: Pick<SimTask, 'state' | 'counts'>): TaskCounters {
  const wouldStart = state === 'pending' || state === 'rework' ? 1 : 0;
  return {
    reworkCount: counts.reworks,
    reworkTotal: counts.reworks,
    errorCount: counts.errors,
    errorTotal: counts.errors,
    reviewFailures: counts.reviewFailures,
    attemptsSinceUnblock: counts.starts + wouldStart,
    tokensUsed: counts.tokens,
    costMicros: counts.costMicros,
  };
}

/** The events at whose end the guard holds every limit against a task and its run. */
const SETTLED: ReadonlySet<string> = new Set([
  'task.created',
  'task.updated',
  'task.claimed',
  'task.usage_reported',
  'task.submitted',
  'task.failed',
  'task.released',
  'task.lease_expired',
  'task.review_expired',
  'task.review_failed',
  'task.approved',
  'task.rework_requested',
  'task.unblocked',
]);

/** Whether the guard reads every limit at the end of an event. A late result counts only when it was kept as its attempt's own. */
export function isSettled({ type, data }: ReplayEvent): boolean {
  if (type === 'task.late_result') return data.result_hash !== undefined || data.error !== undefined;
  return SETTLED.has(type);
}
