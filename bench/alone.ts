import { DONE } from './database.js';
import type { Machine } from './machine.js';
import type { Figure } from './report.js';
import { alternate, compare, type Load, type Scale, waitingFor } from './rounds.js';

const FLOOR = 'floor';
const PRODUCT = 'product';

function lone({ warmUpMs, ms }: Scale): Load {
  return { kind: 'claims', connections: 1, warmUpMs, ms };
}

/** One client that claims and claims: what a claim takes when nobody else is there. */
export async function alone(machine: Machine, scale: Scale): Promise<Figure[]> {
  const [own, floors] = [await machine.database('alone_product'), await machine.database('alone_floor')];
  const [floor, product] = [await machine.floor(floors.url), await machine.product(own.url)];
  const slices = await alternate(
    machine,
    [
      { name: FLOOR, target: floor, database: floors },
      { name: PRODUCT, target: product, database: own },
    ],
    lone(scale),
    scale.rounds,
  );
  await Promise.all([floor.stop(), product.stop()]);
  const { one, other, ratio, spread } = compare(slices, [PRODUCT, FLOOR], (slice) => slice.median);
  return [
    {
      line: 'alone',
      what: 'one client alone: median latency of a claim ÷ floor',
      product: `${one.toFixed(2)} ms`,
      beside: `${other.toFixed(2)} ms`,
      value: ratio,
      unit: 'ratio',
      spread,
      target: { atMost: 2 },
    },
  ];
}

const FEW = 1_000;
const MANY = 1_000_000;
const MANY_QUICK = 50_000;

/** The same client beside few finished tasks and beside a great many. */
export async function size(machine: Machine, scale: Scale): Promise<Figure[]> {
  const counts = { small: FEW, big: scale.quick ? MANY_QUICK : MANY };
  const load = lone(scale);
  const sides = [];
  for (const [name, done] of Object.entries(counts)) {
    const database = await machine.database(`size_${name}`);
    await database.fill({ count: done, as: DONE }, { count: waitingFor(load) * scale.rounds });
    sides.push({ name, target: await machine.product(database.url), database, isFilled: true });
  }
  const slices = await alternate(machine, sides, load, scale.rounds);
  for (const { target } of sides) await target.stop();
  const { one, other, ratio, spread } = compare(slices, ['big', 'small'], (slice) => slice.median);
  return [
    {
      line: 'size',
      what: `median latency of a claim with ${counts.big.toLocaleString('en')} tasks ÷ with ${FEW.toLocaleString('en')}`,
      product: `${one.toFixed(2)} ms`,
      beside: `${other.toFixed(2)} ms`,
      value: ratio,
      unit: 'ratio',
      spread,
      target: { atMost: 1.3 },
    },
  ];
}
