import { parseArgs } from 'node:util';
import { alone, size } from './alone.js';
import { guard } from './guard.js';
import { breaker, excluded, tripped } from './head.js';
import { leases, wakes } from './latency.js';
import { Machine } from './machine.js';
import { memory } from './memory.js';
import { type Figure, reaches, toMarkdown } from './report.js';
import type { Scale } from './rounds.js';
import { sharedRun } from './runs.js';
import { logging, throughput } from './throughput.js';

type Measurement = (machine: Machine, scale: Scale) => Promise<Figure[]>;

const MEASUREMENTS: Readonly<Record<string, Measurement>> = {
  claims: (machine, scale) => throughput(machine, scale, 'claims'),
  loops: (machine, scale) => throughput(machine, scale, 'loops'),
  alone,
  size,
  logging,
  tripped,
  breaker,
  excluded,
  guard,
  run: sharedRun,
  leases,
  wakes,
  memory,
};

const FULL: Scale = { rounds: 5, warmUpMs: 1000, ms: 3000, quick: false };
const QUICK: Scale = { rounds: 1, warmUpMs: 300, ms: 500, quick: true };

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const names = values.only.length === 0 ? Object.keys(MEASUREMENTS) : values.only;
for (const name of names) {
  if (MEASUREMENTS[name] === undefined)
    throw new Error(`--only takes one of ${Object.keys(MEASUREMENTS).join(', ')}`);
}

const machine = await Machine.start();
const interrupted = (): void => {
  void machine.stop().finally(() => process.exit(130));
};
process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
const figures: Figure[] = [];
try {
  for (const name of names) {
    const from = performance.now();
    process.stderr.write(`${name}\n`);
    figures.push(...((await MEASUREMENTS[name]?.(machine, values.quick ? QUICK : FULL)) ?? []));
    process.stderr.write(`  took ${((performance.now() - from) / 1000).toFixed(0)} s\n`);
  }
} finally {
  await machine.stop();
}
process.stdout.write(`${toMarkdown(figures)}\n`);
const short = figures.filter((figure) => !reaches(figure));
if (short.length > 0) process.stderr.write(`${short.length} of ${figures.length} figures miss their line\n`);
process.exit(0);
