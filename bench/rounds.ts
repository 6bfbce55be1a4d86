import { cpuOf, cpuOfFamily } from './cpu.js';
import type { Database, Group } from './database.js';
import type { Job } from './job.js';
import type { Machine, Target } from './machine.js';

/** One of the things that are compared. */
export interface Side {
  readonly name: string;
  readonly target: Target;
  readonly database: Database;
  /** What its board begins each slice with; without it, so many tasks of the template. */
  readonly board?: (waiting: number) => readonly Group[];
  /** Filled once for all rounds, not before each slice. */
  readonly isFilled?: boolean;
}

/** What one slice of load measured. */
export interface Slice {
  readonly perSecond: number;
  /** Of one claim, or one whole loop, in milliseconds. */
  readonly median: number;
  readonly p99: number;
  /** Processor time of the service, and of PostgreSQL, for each; in microseconds. */
  readonly serviceCpu: number;
  readonly postgresCpu: number;
}

export type Load = Pick<Job, 'kind' | 'connections' | 'warmUpMs' | 'ms'>;

/** How much is measured. */
export interface Scale {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly ms: number;
  readonly quick: boolean;
}

/** Shorter slices, for lines that compare the service with itself: so all of them together take minutes and no more. */
export function briefly(scale: Scale): Scale {
  return scale.quick ? scale : { ...scale, warmUpMs: 500, ms: 2000 };
}

/** More than any machine here claims in a second. */
const CLAIMS_PER_SECOND_MAX = 12_000;
const LOOPS_PER_SECOND_MAX = 5_000;
const ALONE_PER_SECOND_MAX = 2_000;

/** How many tasks must wait so that a slice does not run dry. */
export function waitingFor({ kind, connections, warmUpMs, ms }: Load): number {
  const many = kind === 'loops' ? LOOPS_PER_SECOND_MAX : CLAIMS_PER_SECOND_MAX;
  const rate = connections === 1 ? ALONE_PER_SECOND_MAX : many;
  return Math.ceil((rate * (warmUpMs + ms)) / 1000);
}

/** Runs one slice of load on one side, on a board that was just set up. */
export async function measure(machine: Machine, side: Side, load: Load): Promise<Slice> {
  const { target, database, board = (count) => [{ count }], isFilled = false } = side;
  if (!isFilled) await database.fill(...board(waitingFor(load)));
  const before = { service: cpuOf(target.pid), postgres: cpuOfFamily(machine.postgresPid) };
  const outcome = await machine.load(target, load);
  const service = (cpuOf(target.pid) ?? Number.NaN) - (before.service ?? Number.NaN);
  const postgres = (cpuOfFamily(machine.postgresPid) ?? Number.NaN) - (before.postgres ?? Number.NaN);
  // The warm-up is in the processor time and not in the count.
  const all = (outcome.done * (load.warmUpMs + load.ms)) / load.ms;
  return {
    perSecond: outcome.done / outcome.seconds,
    median: outcome.median,
    p99: outcome.p99,
    serviceCpu: (service * 1000) / all,
    postgresCpu: (postgres * 1000) / all,
  };
}

/** All sides by turns, round after round, each round in the other order: what disturbs one disturbs its neighbour too. */
export async function alternate(
  machine: Machine,
  sides: readonly Side[],
  load: Load,
  rounds: number,
): Promise<Map<string, Slice[]>> {
  const slices = new Map(sides.map(({ name }) => [name, [] as Slice[]]));
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? sides : [...sides].reverse();
    for (const side of order) {
      const slice = await measure(machine, side, load);
      slices.get(side.name)?.push(slice);
      process.stderr.write(
        `  ${load.kind} at ${load.connections}, ${side.name}: ${slice.perSecond.toFixed(0)}/s, ` +
          `median ${slice.median.toFixed(2)} ms, service ${slice.serviceCpu.toFixed(0)} µs, ` +
          `PostgreSQL ${slice.postgresCpu.toFixed(0)} µs\n`,
      );
    }
  }
  return slices;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  const high = sorted[Math.floor(middle)] ?? Number.NaN;
  return (low + high) / 2;
}

/** One number of each side, the median of all rounds, and the median of the rounds' own ratios. */
export function compare(
  slices: ReadonlyMap<string, readonly Slice[]>,
  [one, other]: readonly [string, string],
  pick: (slice: Slice) => number,
): { one: number; other: number; ratio: number; spread: readonly [number, number] } {
  const ones = (slices.get(one) ?? []).map(pick);
  const others = (slices.get(other) ?? []).map(pick);
  const ratios = ones.map((value, round) => value / (others[round] ?? Number.NaN));
  return {
    one: median(ones),
    other: median(others),
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
  };
}
