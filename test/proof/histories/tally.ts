import type { History } from './play.js';

/** What histories were made of: one in which nothing happens proves nothing. */
export interface Tally {
  readonly operations: number;
  /** Commands that no client succeeded with. */
  readonly neverDone: readonly string[];
  /** What else must have come up, and did not. */
  readonly neverSeen: readonly string[];
  /** Answers that say that something broke. */
  readonly troubles: readonly number[];
}

const CALLS = [
  'read',
  'claim',
  'heartbeat',
  'usage',
  'submit',
  'fail',
  'release',
  'approve',
  'rework',
  'block',
  'unblock',
  'cancel',
] as const;

/** Refusals for which clients have to meet, or to come late. */
const REFUSALS = [
  'already_claimed',
  'lease_lost',
  'self_review',
  'stale_attempt',
  'stale_version',
  'task_blocked',
  'verdict_already_recorded',
] as const;

const EVENTS = ['task.lease_expired', 'task.late_result', 'trip.opened', 'trip.resolved'] as const;

/** Counts what came up in some histories. */
export function tallyOf(histories: readonly History[]): Tally {
  const operations = histories.flatMap((history) => history.operations);
  const types = new Set(histories.flatMap(({ log }) => log.map(({ type }) => type)));
  const done = new Set(
    operations.filter(({ answer }) => answer?.code === 'ok').map(({ sent }) => sent.call.type),
  );
  const codes = new Set(operations.map(({ answer }) => answer?.code ?? 'no answer'));
  const seen = new Set<string>([...codes, ...types]);
  if (operations.some(({ answer }) => answer?.replayed === true)) seen.add('a replay');
  return {
    operations: operations.length,
    neverDone: CALLS.filter((call) => !done.has(call)),
    neverSeen: [...REFUSALS, ...EVENTS, 'no answer', 'a replay'].filter((one) => !seen.has(one)),
    troubles: operations.flatMap(({ trouble }) => trouble ?? []),
  };
}
