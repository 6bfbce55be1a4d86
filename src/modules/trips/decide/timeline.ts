import type { Json, JsonObject } from '../../../kernel/json.js';
import type { AttemptFacts, LogEntry } from '../types.js';
import { shortened } from './window.js';

/** One thing that somebody did, in words. */
export interface Moment {
  readonly at: number;
  readonly agentId: string | null;
  readonly role: string;
  readonly event: string;
  readonly taskId: string | null;
  readonly attempt: number | null;
  readonly text: string;
}

/** What everybody did, in the order in which it happened. */
export interface Timeline {
  readonly moments: readonly Moment[];
  /** How many events before the first moment are not shown. */
  readonly omitted: number;
}

/** How many moments a report shows at most: the last ones. */
export const MOMENTS_MAX = 200;
/** How many events are read for them: usage reports of one attempt are told as one moment. */
export const EVENTS_READ = 1_000;

const TEXT_MAX = 300;

/** Tells a log, and what the attempts add to it, as one list. `earlier`: how many events there were before the log read. */
export function timelineOf(
  log: readonly LogEntry[],
  attempts: readonly AttemptFacts[],
  earlier: number,
): Timeline {
  const told: { moment: Moment; events: number }[] = [];
  const byNumber = new Map(attempts.map((attempt) => [attempt.number, attempt]));
  for (const entry of log) {
    const before = told.at(-1);
    const moment = momentOf(entry, byNumber);
    if (before !== undefined && isSameReport(before.moment, moment)) {
      const events = before.events + 1;
      told[told.length - 1] = { moment: { ...moment, text: `reported usage ${events} times` }, events };
    } else told.push({ moment, events: 1 });
  }
  const cut = told.slice(0, -MOMENTS_MAX);
  return {
    moments: told.slice(-MOMENTS_MAX).map(({ moment }) => moment),
    omitted: earlier + cut.reduce((sum, { events }) => sum + events, 0),
  };
}

function isSameReport(a: Moment, b: Moment): boolean {
  return (
    a.event === 'task.usage_reported' &&
    b.event === a.event &&
    a.agentId === b.agentId &&
    a.taskId === b.taskId &&
    a.attempt === b.attempt
  );
}

function momentOf(entry: LogEntry, attempts: ReadonlyMap<number, AttemptFacts>): Moment {
  const { at, agentId, role, type, taskId, data } = entry;
  const attempt = typeof data.attempt === 'number' ? data.attempt : null;
  const facts = attempt === null ? undefined : attempts.get(attempt);
  const text = shortened(textOf(entry, facts), TEXT_MAX);
  return { at, agentId, role, event: type, taskId, attempt, text };
}

function textOf({ type, reason, to, data }: LogEntry, facts: AttemptFacts | undefined): string {
  const because = reason === null ? '' : `: ${reason}`;
  const n = typeof data.attempt === 'number' ? `attempt ${data.attempt}` : 'the task';
  switch (type) {
    case 'task.created':
      return `created the task, ${to ?? 'pending'}`;
    case 'task.updated':
      return `changed ${Array.isArray(data.changed) ? data.changed.join(', ') : 'the task'}`;
    case 'task.claimed':
      return `began ${n}`;
    case 'task.review_claimed':
      return `began to review ${n}`;
    case 'task.usage_reported':
      return 'reported usage once';
    case 'task.submitted':
      return `handed in ${n}${costOf(facts)}`;
    case 'task.failed':
      return `failed ${n} (${textIn(data.error, 'class') ?? 'error'})${because}`;
    case 'task.released':
      return `gave ${n} back${because}`;
    case 'task.lease_expired':
      return `the lease of ${n} ran out, held by ${textIn(data, 'holder') ?? 'an agent'}`;
    case 'task.review_expired':
      return `the review of ${n} ran out, held by ${textIn(data, 'holder') ?? 'an agent'}`;
    case 'task.review_released':
      return `gave the review of ${n} back${because}`;
    case 'task.review_failed':
      return `could not review ${n}${because}`;
    case 'task.approved':
      return `approved ${n}${because}`;
    case 'task.rework_requested':
      return `sent ${n} back${because}${findingsOf(facts)}`;
    case 'task.late_result':
      return `handed in ${n} after it was stopped`;
    case 'task.blocked':
      return `blocked the task${because}`;
    case 'task.unblocked':
      return `unblocked the task to ${to ?? 'pending'}${because}`;
    case 'task.cancelled':
      return `gave the task up${because}`;
    case 'task.auto_recovered':
      return `returned the task for one probe${because}`;
    case 'guard.warned':
      return `the guard warned: ${layerIn(data)}`;
    case 'guard.refused':
      return `the guard refused ${textIn(data, 'refused_command') ?? 'a command'}: ${textIn(data, 'code') ?? ''}`;
    case 'trip.opened':
      return `the guard tripped: ${layerIn(data)}`;
    case 'trip.escalated':
      return `the trip rose to ${textIn(data, 'severity') ?? 'HIGH'}: ${layerIn(data)}`;
    case 'trip.resolved':
      return `the trip was closed by ${textIn(data, 'strategy') ?? 'a recovery'}${because}`;
    default:
      return `${type}${because}`;
  }
}

/** What an attempt has cost so far. */
function costOf(facts: AttemptFacts | undefined): string {
  if (facts === undefined) return '';
  const { input, output, cacheWrite } = facts.usage.tokens;
  const tokens = input + output + cacheWrite;
  return tokens === 0 ? '' : `, ${tokens} tokens`;
}

function findingsOf(facts: AttemptFacts | undefined): string {
  const findings = facts?.verdict?.findings ?? [];
  if (findings.length === 0) return '';
  const told = findings.map(({ criterion, detail }) =>
    criterion === null ? detail : `criterion ${criterion}: ${detail}`,
  );
  return ` (${told.join('; ')})`;
}

function layerIn(data: JsonObject): string {
  return `${textIn(data, 'kind') ?? ''} limit at ${String(data.value)} of ${String(data.limit)}`;
}

function textIn(value: Json | undefined, field: string): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const text = value[field];
  return typeof text === 'string' ? text : null;
}
