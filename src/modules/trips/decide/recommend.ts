import { STRATEGIES, type Strategy, type Trip } from '../../guard/types.js';
import { type ClosedTrip, type DiagnosisCode, SAMPLE_MIN } from '../types.js';

/** How one strategy did for one diagnosis of one kind of trip. */
export interface StrategyRecord {
  readonly kind: Trip['kind'];
  readonly diagnosis: DiagnosisCode;
  readonly strategy: string;
  /** How often it was chosen. */
  readonly resolutions: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Of those whose end is known; null while none is. */
  readonly rate: number | null;
}

/** What to do about a trip, and why that. */
export interface Recommendation {
  readonly strategy: Strategy;
  /** `history`: it did best before. `default`: too little is known, so the documented strategy for the diagnosis. */
  readonly basis: 'history' | 'default';
  readonly successRate: number | null;
  /** How many known ends the rate rests on. */
  readonly sample: number;
  readonly why: string;
}

/** What is done for each diagnosis while too little is known of what helped before. */
const DEFAULTS: { readonly [code in Exclude<DiagnosisCode, 'none'>]: readonly [Strategy, string] } = {
  identical_results: ['adjust', 'give it to another agent, or say in the description what must be different'],
  same_criterion: ['adjust', 'that criterion is unclear or too high: reword it, lower it or drop it'],
  moving_goalposts: [
    'adjust',
    'write everything found so far into the acceptance criteria, so that they end',
  ],
  one_fingerprint: [
    'adjust',
    'the same error comes back whatever is tried: remove its cause or change the approach',
  ],
  dependency: ['reset', 'nothing is wrong with the task: go on once what it depends on is there again'],
  tokens_rising: ['split', 'it is too large for one attempt: take it apart'],
  dead_reviewer: ['reset', 'nothing is wrong with the task: have it reviewed by a reviewer that is alive'],
  one_pair: ['adjust', 'these two do not come to an end together: give the task to another agent'],
};

/** The layers that going on as before would cross again at once: their limit must be raised, or their budget given anew. */
const BUDGETS: ReadonlySet<string> = new Set(['token', 'cost', 'run_tokens', 'run_cost', 'deadline']);

/**
 * The strategy to recommend: the one with the best past rate among those of which at least five ends are known, else the fixed
 * one for the diagnosis. `mustChange`: it was recovered before, so a reset would be refused.
 */
export function recommend(
  kind: Trip['kind'],
  diagnosis: DiagnosisCode,
  mustChange: boolean,
  records: readonly StrategyRecord[],
): Recommendation {
  const [best] = records
    .filter((record) => record.kind === kind && record.diagnosis === diagnosis)
    .flatMap((record) => {
      const strategy = STRATEGIES.find((known) => known === record.strategy);
      const { rate } = record;
      const sample = record.succeeded + record.failed;
      if (strategy === undefined || rate === null || rate === 0 || sample < SAMPLE_MIN) return [];
      return strategy === 'reset' && mustChange ? [] : [{ strategy, rate, sample }];
    })
    .sort((a, b) => b.rate - a.rate || b.sample - a.sample);
  if (best === undefined) return defaultFor(kind, diagnosis, mustChange);
  const { strategy, rate, sample } = best;
  const why = `${strategy} ended well in ${Math.round(rate * sample)} of ${sample} trips of this kind with this diagnosis`;
  return { strategy, basis: 'history', successRate: rate, sample, why };
}

function defaultFor(kind: Trip['kind'], diagnosis: DiagnosisCode, mustChange: boolean): Recommendation {
  const [strategy, why] = diagnosis === 'none' ? withoutDiagnosis(kind) : DEFAULTS[diagnosis];
  const fixed = { basis: 'default', successRate: null, sample: 0 } as const;
  return strategy === 'reset' && mustChange
    ? { ...fixed, strategy: 'adjust', why: `${why}; it was recovered before, so something must change` }
    : { ...fixed, strategy, why };
}

function withoutDiagnosis(kind: Trip['kind']): readonly [Strategy, string] {
  return BUDGETS.has(kind)
    ? ['adjust', 'the budget is spent: raise it if the work is worth that, else terminate']
    : ['reset', 'no cause is proven: read the attempts, then try once more'];
}

/**
 * How each strategy did. A resolution succeeded if its task is done (its run closed) and no later trip of the same kind came;
 * it failed if one came, or if the task was given up; otherwise its end is not known yet. Ending the work has no end to wait
 * for, and what the server recovered by itself nobody chose: the first is only counted, the second left out.
 */
export function tally(
  closed: readonly { readonly trip: ClosedTrip; readonly diagnosis: DiagnosisCode }[],
): readonly StrategyRecord[] {
  const later = laterTrips(closed.map(({ trip }) => trip));
  const records = new Map<string, StrategyRecord>();
  for (const { trip, diagnosis } of closed) {
    if (trip.by === 'server') continue;
    const { kind, strategy } = trip;
    const key = `${kind}|${diagnosis}|${strategy}`;
    const known = records.get(key) ?? {
      kind,
      diagnosis,
      strategy,
      resolutions: 0,
      succeeded: 0,
      failed: 0,
      rate: null,
    };
    const end = strategy === 'terminate' ? 'unknown' : endOf(trip, later);
    const succeeded = known.succeeded + (end === 'succeeded' ? 1 : 0);
    const failed = known.failed + (end === 'failed' ? 1 : 0);
    const ends = succeeded + failed;
    records.set(key, {
      ...known,
      resolutions: known.resolutions + 1,
      succeeded,
      failed,
      rate: ends === 0 ? null : succeeded / ends,
    });
  }
  return [...records.values()].sort(
    (a, b) =>
      a.kind.localeCompare(b.kind) ||
      a.diagnosis.localeCompare(b.diagnosis) ||
      b.resolutions - a.resolutions ||
      a.strategy.localeCompare(b.strategy),
  );
}

/** For each target and kind, when its trips opened. */
function laterTrips(trips: readonly ClosedTrip[]): ReadonlyMap<string, readonly number[]> {
  const opened = new Map<string, number[]>();
  for (const trip of trips) {
    const key = `${targetOf(trip)}|${trip.kind}`;
    const times = opened.get(key);
    if (times === undefined) opened.set(key, [trip.openedAt]);
    else times.push(trip.openedAt);
  }
  return opened;
}

function targetOf(trip: ClosedTrip): string {
  return trip.scope === 'task' ? `task ${trip.taskId}` : `run ${trip.runId}`;
}

function endOf(
  trip: ClosedTrip,
  later: ReadonlyMap<string, readonly number[]>,
): 'succeeded' | 'failed' | 'unknown' {
  const times = later.get(`${targetOf(trip)}|${trip.kind}`) ?? [];
  if (trip.openKind === trip.kind || times.some((at) => at >= trip.closedAt)) return 'failed';
  if (trip.state === 'done' || trip.state === 'closed') return 'succeeded';
  return trip.state === 'cancelled' ? 'failed' : 'unknown';
}
