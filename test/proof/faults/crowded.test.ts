import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { SOAK } from '../../support/soak.js';
import { expectBusy, read, readOnce } from './client.js';
import { expectWhole } from './harness.js';
import { Load } from './load.js';
import { type Rig, startRig } from './rig.js';
import { until } from './until.js';

const CLIENTS = 200;
const POOL = 10;

let rig: Rig;
beforeAll(async () => {
  const env = { FUSEBOARD_POOL_SIZE: String(POOL), FUSEBOARD_STATEMENT_TIMEOUT_MS: '1000' };
  rig = await startRig({ env });
});
afterEach(() => rig.expectWhole());
afterAll(() => rig.close());

const LISTS = ['/tasks', '/events', '/runs', '/agents', '/tasks/claimable', '/trips'];

/** Reads every list once; what is asked of the database for it is nobody's batch, and takes a connection each time. */
async function readAll(): Promise<void> {
  const key = rig.service.key('operator');
  const endings = await Promise.all(LISTS.map((path) => read(rig.service.url, key, path)));
  expect(endings.map(({ status }) => status)).toEqual(LISTS.map(() => 200));
}

/** How many of the service's connections wait for a lock. */
async function waiting(): Promise<number> {
  const { rowCount } = await rig.database.pool.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'fuseboard'
      AND wait_event_type = 'Lock'`,
  );
  return rowCount ?? 0;
}

test(`${CLIENTS} clients over ${POOL} connections are all served`, async () => {
  const load = new Load(rig.service, { clients: CLIENTS, seed: 3 });
  const reading = Promise.all(Array.from({ length: CLIENTS / 4 }, readAll));
  await load.more(CLIENTS * 3 * SOAK);
  await reading;
  await load.stop();
  if (SOAK > 1) console.log(`${CLIENTS} clients over ${POOL} connections`, load.figures);
  await expectWhole(rig.database.pool, load, { all: true });
}, 600_000);

test('while a table is locked those over the limit are told to come again, and then all are served', async () => {
  const { service, database } = rig;
  const load = new Load(service, { clients: CLIENTS / 4, seed: 4 });
  await load.more(CLIENTS);
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  await locker.query('BEGIN');
  await locker.query('LOCK TABLE tasks, events IN ACCESS EXCLUSIVE MODE');
  const reading = Promise.all(Array.from({ length: CLIENTS / 4 }, readAll));
  await until('all connections are taken', async () => (await waiting()) === POOL);
  await until('somebody is turned away', async () => {
    const reply = await readOnce(service.url, service.key('operator'), '/tasks');
    if (reply !== null && reply.status !== 200) expectBusy(reply);
    return reply !== null && reply.status !== 200;
  });
  await locker.end();
  await load.more(CLIENTS * SOAK);
  await reading;
  await load.stop();
  await expectWhole(database.pool, load, { all: true });
}, 600_000);
