import { fileURLToPath } from 'node:url';
import type { Held } from './heap-probe.js';
import type { Machine } from './machine.js';
import type { Figure } from './report.js';
import type { Scale } from './rounds.js';

/** Claim, submit and approve. */
const TRANSITIONS_A_LOOP = 3;
const SLICE_MS = 2_000;
/** A machine that is slower than this allows gets no further, and the line says how far. */
const LONGEST_MS = 150_000;
/** More loops than any machine here does in a slice: the last one may run so far beyond the number asked. */
const LOOPS_A_SLICE_MAX = 10_000;

/** What a service holds after so many transitions, and after ten times as many: what it forgets to let go of shows as the difference. */
export async function memory(machine: Machine, { quick }: Scale): Promise<Figure[]> {
  const [few, many] = quick ? [2_000, 20_000] : [20_000, 200_000];
  const database = await machine.database('memory');
  const probe = fileURLToPath(new URL('heap-probe.js', import.meta.url));
  const product = await machine.product(database.url, {}, ['--import', probe]);
  // Once for all: a board that is set up anew makes the service forget what it knew of the old one.
  await database.fill({ count: Math.ceil(many / TRANSITIONS_A_LOOP) + LOOPS_A_SLICE_MAX });
  let done = 0;
  const until = performance.now() + LONGEST_MS;
  const heldAfter = async (transitions: number): Promise<Held & { transitions: string }> => {
    while (done * TRANSITIONS_A_LOOP < transitions && performance.now() < until) {
      const load = { kind: 'loops', connections: 32, warmUpMs: 0, ms: SLICE_MS } as const;
      done += (await machine.load(product, load)).done;
    }
    const held = await product.child.hear<Held>({ ask: 'held' });
    const count = (done * TRANSITIONS_A_LOOP).toLocaleString('en');
    process.stderr.write(
      `  after ${count} transitions: heap ${mebibytes(held.heap)}, resident ${mebibytes(held.resident)}\n`,
    );
    return { ...held, transitions: count };
  };
  const [before, after] = [await heldAfter(few), await heldAfter(many)];
  await product.stop();
  const what = (of: string): string =>
    `${of} of the service after ${after.transitions} transitions ÷ after ${before.transitions}`;
  return [
    {
      line: 'memory',
      what: what('heap in use'),
      product: mebibytes(after.heap),
      beside: mebibytes(before.heap),
      value: after.heap / before.heap,
      unit: 'ratio',
      target: { atMost: 1.25 },
    },
    {
      line: 'memory',
      what: what('resident memory'),
      product: mebibytes(after.resident),
      beside: mebibytes(before.resident),
      value: after.resident / before.resident,
      unit: 'ratio',
    },
  ];
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
