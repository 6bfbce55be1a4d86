import type { Machine } from './machine.js';
import type { Figure } from './report.js';
import { alternate, compare, type Load, type Scale, type Slice } from './rounds.js';

const FLOOR = 'floor';
const ON = 'batching on';
const OFF = 'batching off';

/** Claims, or whole loops, at 32 connections: the product with and without batching, beside the floor. */
export async function throughput(
  machine: Machine,
  { rounds, warmUpMs, ms }: Scale,
  kind: Load['kind'],
): Promise<Figure[]> {
  const [own, floors] = [await machine.database(`${kind}_product`), await machine.database(`${kind}_floor`)];
  const floor = await machine.floor(floors.url);
  const on = await machine.product(own.url);
  const off = await machine.product(own.url, { FUSEBOARD_BATCH_MAX: '1' });
  const slices = await alternate(
    machine,
    [
      { name: FLOOR, target: floor, database: floors },
      { name: ON, target: on, database: own },
      { name: OFF, target: off, database: own },
    ],
    { kind, connections: 32, warmUpMs, ms },
    rounds,
  );
  await Promise.all([floor.stop(), on.stop(), off.stop()]);
  const one = kind === 'claims' ? 'claim' : 'loop';
  return [
    { ...rate(kind, ON, slices), target: { atLeast: 1.5 } },
    rate(kind, OFF, slices),
    cpu(kind, `processor time of the service for each ${one}`, slices, (slice) => slice.serviceCpu),
    cpu(kind, `processor time of PostgreSQL for each ${one}`, slices, (slice) => slice.postgresCpu),
  ];
}

function rate(line: string, side: string, slices: ReadonlyMap<string, readonly Slice[]>): Figure {
  const { one, other, ratio, spread } = compare(slices, [side, FLOOR], ({ perSecond }) => perSecond);
  return {
    line,
    what: `${line} at 32 connections, ${side} ÷ floor`,
    product: `${one.toFixed(0)}/s`,
    beside: `${other.toFixed(0)}/s`,
    value: ratio,
    unit: 'ratio',
    spread,
  };
}

function cpu(
  line: string,
  what: string,
  slices: ReadonlyMap<string, readonly Slice[]>,
  pick: (slice: Slice) => number,
): Figure {
  const { one, other, ratio, spread } = compare(slices, [ON, FLOOR], pick);
  return {
    line,
    what,
    product: `${one.toFixed(0)} µs`,
    beside: `${other.toFixed(0)} µs`,
    value: ratio,
    unit: 'ratio',
    spread,
  };
}

/** Claims with a line in the log for each, and without. */
export async function logging(machine: Machine, { rounds, warmUpMs, ms }: Scale): Promise<Figure[]> {
  const database = await machine.database('logging');
  const logged = await machine.product(database.url);
  const silent = await machine.product(database.url, { LOG_LEVEL: 'silent' });
  const slices = await alternate(
    machine,
    [
      { name: 'silent', target: silent, database },
      { name: 'logged', target: logged, database },
    ],
    { kind: 'claims', connections: 32, warmUpMs, ms },
    rounds,
  );
  await Promise.all([logged.stop(), silent.stop()]);
  const { one, other, ratio, spread } = compare(slices, ['logged', 'silent'], ({ perSecond }) => perSecond);
  return [
    {
      line: 'logging',
      what: 'claims at 32 connections, a line in the log for each ÷ silent',
      product: `${one.toFixed(0)}/s`,
      beside: `${other.toFixed(0)}/s`,
      value: ratio,
      unit: 'ratio',
      spread,
    },
  ];
}
