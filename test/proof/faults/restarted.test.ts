import { afterEach, beforeEach, expect, test } from 'vitest';
import { SOAK } from '../../support/soak.js';
import { dice } from './dice.js';
import { expectWhole, type Home, makeHome, timesOf } from './harness.js';
import { Load } from './load.js';
import { Service } from './service.js';
import { until } from './until.js';

/** In order but at once; at once, to be recovered; and without a word. */
const ENDS = ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const;
const RESTARTS = SOAK === 1 ? ENDS.length : 21;

let home: Home;
let service: Service;

beforeEach(async () => {
  home = await makeHome();
  service = await Service.start({ folder: home.folder });
});

afterEach(async () => {
  await service.stop();
  await home.remove();
});

/** Resolves when a server that is not `before` takes connections. */
async function takesConnections(before: number): Promise<void> {
  await until('the database is back', async () => {
    const now = await home.server();
    if (now === null || now === before) return false;
    return home.withPool((pool) =>
      pool.query('SELECT 1').then(
        () => true,
        () => false,
      ),
    );
  });
}

test(`${RESTARTS} restarts of the database under load: nothing acknowledged is lost, and the service serves again`, async () => {
  const load = new Load(service, { clients: 16, seed: 2 });
  const roll = dice(2);
  const outages: number[] = [];
  const times: number[] = [];
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    await load.more(50 + Math.floor(roll() * 100));
    const before = await home.server();
    if (before === null) throw new Error('the database is not there');
    const from = performance.now();
    process.kill(before, ENDS[restart % ENDS.length]);
    await takesConnections(before);
    const back = performance.now();
    await load.more(1);
    outages.push(performance.now() - from);
    times.push(performance.now() - back);
    await home.withPool((pool) => expectWhole(pool, load));
  }
  await load.stop();
  await home.withPool((pool) => expectWhole(pool, load, { all: true }));
  if (SOAK > 1)
    console.log(
      `${RESTARTS} restarts, serving again after`,
      timesOf(times),
      'outages',
      timesOf(outages),
      load.figures,
    );
  // From the moment at which the database takes connections: what is left is the service's own part.
  expect(Math.max(...times)).toBeLessThan(3_000);
}, 1_800_000);
