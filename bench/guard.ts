import { fileURLToPath } from 'node:url';
import type { Machine } from './machine.js';
import { shareOf } from './profile.js';
import type { Figure } from './report.js';
import {
  alternate,
  briefly,
  compare,
  type Load,
  measure,
  type Scale,
  type Slice,
  waitingFor,
} from './rounds.js';

const ON = 'guard on';
const OFF = 'guard off';
const SHARE_MAX = 10;
/** Many short rounds on one board: the difference is smaller than what changes on a machine from one second to the next. */
const ROUNDS = 24;
const SHORT = { warmUpMs: 100, ms: 700 };

/**
 * What the guard takes of a claim, a submission and an approval, in two ways that fail differently. A profile counts how often
 * some function of the guard was on the stack: exact to a tenth of a percent whatever else the machine does, but it misses what
 * the verdict costs later, as text in an event and in an answer. The same service with an evaluation that reads nothing and
 * allows everything has none of that either; but two slices of anything differ by more than the guard takes.
 */
export async function guard(machine: Machine, scale: Scale): Promise<Figure[]> {
  const { warmUpMs, ms } = briefly(scale);
  const load: Load = { kind: 'loops', connections: 32, warmUpMs, ms };
  return [await profiled(machine, load), await compared(machine, load, scale.quick ? 2 : ROUNDS)];
}

/** The guard's own room, and how decisions hold its word against what they have just done. */
const GUARD = /\/modules\/(guard|tasks\/decide\/(settle|breakers)\.js)/;

async function profiled(machine: Machine, load: Load): Promise<Figure> {
  const database = await machine.database('guard_profile');
  const folder = machine.folderFor('profile');
  const product = await machine.product(database.url, {}, ['--cpu-prof', `--cpu-prof-dir=${folder}`]);
  await measure(machine, { name: 'profiled', target: product, database }, { ...load, warmUpMs: 0 });
  const from = process.hrtime.bigint();
  await measure(machine, { name: 'profiled', target: product, database }, { ...load, warmUpMs: 0 });
  const until = process.hrtime.bigint();
  await product.stop();
  const value = 100 * (await shareOf(folder, { from, until }, (url) => GUARD.test(url)));
  return {
    line: 'guard',
    what: "the guard's share of the service's processor time in loops, by profile",
    product: `${value.toFixed(1)} %`,
    beside: '',
    value,
    unit: '%',
    target: { atMost: SHARE_MAX },
  };
}

async function compared(machine: Machine, given: Load, rounds: number): Promise<Figure> {
  const load: Load = { ...given, ...SHORT };
  const database = await machine.database('guard_off');
  const on = await machine.product(database.url);
  const without = fileURLToPath(new URL('without-guard.js', import.meta.url));
  const off = await machine.product(database.url, {}, ['--import', without]);
  await database.fill({ count: 2 * rounds * waitingFor(load) });
  const slices = await alternate(
    machine,
    [
      { name: OFF, target: off, database, isFilled: true },
      { name: ON, target: on, database, isFilled: true },
    ],
    load,
    rounds,
  );
  await Promise.all([on.stop(), off.stop()]);
  const spent = ({ serviceCpu, postgresCpu }: Slice): number => serviceCpu + postgresCpu;
  const { one, other, ratio, spread } = compare(slices, [OFF, ON], spent);
  const share = (ofOff: number): number => 100 * (1 - ofOff);
  return {
    line: 'guard',
    what: "the guard's share of the service's and PostgreSQL's processor time in loops, on against off",
    product: `${other.toFixed(0)} µs`,
    beside: `${one.toFixed(0)} µs`,
    value: share(ratio),
    unit: '%',
    spread: [share(spread[1]), share(spread[0])],
    target: { atMost: SHARE_MAX },
  };
}
