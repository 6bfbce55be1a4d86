import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { SOAK } from '../../support/soak.js';
import { type Command, expectBusy, send } from './client.js';
import { everywhere, sendInto } from './everywhere.js';
import type { Struck } from './link.js';
import { type Rig, startRig } from './rig.js';
import { SCENES } from './scenes.js';
import { until } from './until.js';

const STATEMENT_MS = 500;
/** How long the service waits for an answer: somewhat longer than it lets the database take for a statement. */
const GIVE_UP_MS = STATEMENT_MS + 2_000;

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ env: { FUSEBOARD_STATEMENT_TIMEOUT_MS: String(STATEMENT_MS) } });
});
afterEach(() => rig.expectWhole());
afterAll(() => rig.close());

/** One that is a transaction of many statements, and one that is a single statement. */
const SHAPES = ['a task that is created', 'a claim'] as const;
const MOMENTS = ['before', 'answered'] as const;

describe.each(SHAPES)('%s, whose connection stands still at each statement', (name) => {
  test.each(MOMENTS)('for a moment (%s it): it is carried out once, and nobody notices', async (moment) => {
    await everywhere(
      rig,
      () => SCENES[name](rig),
      { moment, how: 'stall' },
      async ({ struck, first }) => {
        struck.letGo();
        expect([200, 201]).toContain((await first).status);
      },
    );
  });
});

/** Where it matters: a batch that holds its project, one that is made already, and one that may be made at any time. */
const HELD = [
  { name: 'a task that is created', at: 'commit 1', moment: 'before' },
  { name: 'a claim', at: 'combined 1', moment: 'before' },
  { name: 'a claim', at: 'combined 1', moment: 'answered' },
  { name: 'a task that is created', at: 'projects_advance 1', moment: 'before' },
  { name: 'a task that is created', at: 'commit 1', moment: 'answered' },
] as const;
/** Each costs the time that it takes to give up: usually the one that holds its project, and one of the others. */
const [HOLDS, ...OTHERS] = HELD;
const SENT_AFTER = SOAK > 1 ? HELD : [HOLDS];
const SENT_MEANWHILE = SOAK > 1 ? HELD : OTHERS.slice(0, 1);

/** Holds a command up until the service gives up on it. A commit that was made is acknowledged all the same. */
async function holdUp({
  name,
  at,
  moment,
}: (typeof HELD)[number]): Promise<{ command: Command; struck: Struck }> {
  const command = await SCENES[name](rig);
  const { struck, first } = await sendInto(rig, command, { at, moment, how: 'stall' });
  if (struck === null) throw new Error(`${at} did not come`);
  const reply = await first;
  if (moment === 'answered') expect([200, 201]).toContain(reply.status);
  else expectBusy(reply);
  return { command, struck };
}

const UNTIL = '$name, held up $moment $at until the service gives up,';

test.each(SENT_MEANWHILE)(
  `${UNTIL} is carried out once when it arrives while it is sent again`,
  async (held) => {
    const { command, struck } = await holdUp(held);
    struck.letGo();
    await send(rig.service.url, rig.ledger, command);
    await struck.over;
    expect(await rig.timesInLog(command)).toBe(1);
  },
);

test.each(SENT_AFTER)(
  `${UNTIL} is carried out once, and holds its project for 3 seconds at most`,
  async (held) => {
    const { command, struck } = await holdUp(held);
    const from = performance.now();
    await send(rig.service.url, rig.ledger, command);
    const waited = performance.now() - from;
    struck.letGo();
    await struck.over;
    expect(await rig.timesInLog(command)).toBe(1);
    // The database ends such a transaction 5 s after its last statement, of which the service has waited for 2.5 s.
    expect(waited).toBeLessThan(5_000);
  },
);

test('connections that died without a word cost the time of one, not of each', async () => {
  const { network, board, service, database } = rig;
  const headers = { authorization: `Bearer ${service.key('planner')}` };
  await Promise.all(Array.from({ length: 40 }, () => fetch(`${service.url}/v1/tasks`, { headers })));
  network.freeze();
  const from = performance.now();
  await board.created();
  expect(performance.now() - from).toBeLessThan(2 * GIVE_UP_MS);
  // What hears of other processes notices as well.
  await until('it listens again', async () => {
    await board.created();
    const { rowCount } = await database.pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'fuseboard-notifier'`,
    );
    return rowCount === 2;
  });
});
