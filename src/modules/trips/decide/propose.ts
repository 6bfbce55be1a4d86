import { LIMIT_CEILINGS } from '../../guard/limits.js';
import { toMicros, toUsd } from '../../guard/wire.js';
import { type Counts, countsIn, numberIn, type ReplayEvent, toPeak } from './replay.js';
import { roundedUp } from './round.js';

/** The limits that can be proposed from what was reached without harm. */
export const PROPOSED = [
  'maxReworks',
  'maxErrors',
  'maxReviewFailures',
  'maxAttempts',
  'maxTokens',
  'maxCostMicros',
  'maxIterations',
  'maxRunTokens',
  'maxRunCostMicros',
] as const;
export type ProposedName = (typeof PROPOSED)[number];

/** One proposed limit and what it rests on, in the core's units. */
export interface ProposedLimit {
  readonly name: ProposedName;
  /** Null without a sample, or where nothing was ever reached that could be limited. */
  readonly limit: number | null;
  /** What 95 of 100 stayed at or below. */
  readonly p95: number | null;
  /** How many finished tasks, or closed runs, it rests on. */
  readonly sample: number;
}

const PERCENT = 95;
/** Room above what was reached. */
const MARGIN = 1.25;

interface RunPeak {
  iterations: number;
  tokens: number;
  costMicros: number;
}

/**
 * Learns from a log what tasks that ended well reached at most, and proposes limits a quarter above what 95 of 100 of them
 * needed. Remembers the counters of unfinished tasks, and a few numbers for each that is done.
 */
export class Proposal {
  private readonly tasks = new Map<string, Counts>();
  private readonly runs = new Map<string, RunPeak>();
  private readonly reached: { readonly [name in ProposedName]: number[] } = {
    maxReworks: [],
    maxErrors: [],
    maxReviewFailures: [],
    maxAttempts: [],
    maxTokens: [],
    maxCostMicros: [],
    maxIterations: [],
    maxRunTokens: [],
    maxRunCostMicros: [],
  };
  private readEvents = 0;

  /** `since`: only what finished from then on is a sample. */
  constructor(private readonly since: number) {}

  get result(): { readonly limits: readonly ProposedLimit[]; readonly readEvents: number } {
    return {
      limits: PROPOSED.map((name) => proposed(name, this.reached[name])),
      readEvents: this.readEvents,
    };
  }

  /** Takes the next event of the log. */
  take(event: ReplayEvent): void {
    this.readEvents += 1;
    if (event.taskId !== null) this.onTask(event.taskId, event);
    else if (event.runId !== null && event.type.startsWith('run.')) this.onRun(event.runId, event);
  }

  private onTask(id: string, { type, counters, at }: ReplayEvent): void {
    const known = this.tasks.get(id);
    if (known === undefined && type !== 'task.created') return;
    const peak = toPeak(known, countsIn(counters));
    this.tasks.set(id, peak);
    if (type !== 'task.approved' && type !== 'task.cancelled') return;
    this.tasks.delete(id);
    if (type === 'task.cancelled' || at < this.since) return;
    const { reached } = this;
    reached.maxReworks.push(peak.reworks);
    reached.maxErrors.push(peak.errors);
    reached.maxReviewFailures.push(peak.reviewFailures);
    reached.maxAttempts.push(peak.starts);
    reached.maxTokens.push(peak.tokens);
    reached.maxCostMicros.push(peak.costMicros);
  }

  private onRun(id: string, { type, counters, at }: ReplayEvent): void {
    const before = this.runs.get(id) ?? { iterations: 0, tokens: 0, costMicros: 0 };
    const peak = {
      iterations: Math.max(before.iterations, numberIn(counters?.iterations)),
      tokens: Math.max(before.tokens, numberIn(counters?.tokens_used)),
      costMicros: Math.max(before.costMicros, toMicros(numberIn(counters?.cost_usd))),
    };
    this.runs.set(id, peak);
    if (type !== 'run.closed') return;
    this.runs.delete(id);
    if (at < this.since) return;
    this.reached.maxIterations.push(peak.iterations);
    this.reached.maxRunTokens.push(peak.tokens);
    this.reached.maxRunCostMicros.push(peak.costMicros);
  }
}

/** Where one is stopped at once: a board on which nothing ever went wrong would be stopped by the first thing that does. */
const LOWEST: Partial<Record<ProposedName, number>> = { maxReworks: 2, maxErrors: 2, maxReviewFailures: 2 };

function proposed(name: ProposedName, values: readonly number[]): ProposedLimit {
  const sample = values.length;
  const sorted = [...values].sort((a, b) => a - b);
  const p95 = sorted[Math.ceil((PERCENT / 100) * sample) - 1] ?? null;
  if (p95 === null) return { name, limit: null, p95, sample };
  const isCost = name.endsWith('Micros');
  // Nobody reported a cost or a token: a limit of next to nothing would stop the first who does.
  if (p95 === 0 && (isCost || name.endsWith('Tokens'))) return { name, limit: null, p95, sample };
  const limit = isCost ? toMicros(roundedUp(toUsd(p95) * MARGIN)) : Math.ceil(roundedUp(p95 * MARGIN));
  return {
    name,
    limit: Math.min(Math.max(LOWEST[name] ?? 1, limit), LIMIT_CEILINGS[name] ?? limit),
    p95,
    sample,
  };
}
