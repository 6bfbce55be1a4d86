import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { openEmbedded } from '../../../src/db/embedded.js';
import { makeFolder, quietLog } from '../../support/server.js';
import { read, sendOnce } from './client.js';
import { type Rig, startRig } from './rig.js';
import { until } from './until.js';

const HOUR_MS = 3_600_000;
const COOLDOWN_MS = 2_000;
/** How late the server may notice what is due: it looks every two seconds at the latest, and this machine may be busy. */
const LATE_MS = 5_000;

let rig: Rig;
beforeAll(async () => {
  const preload = new URL('shift-clock.mjs', import.meta.url).href;
  rig = await startRig({
    env: { FUSEBOARD_MAX_ERRORS: '1', FUSEBOARD_COOLDOWN_SECONDS: String(COOLDOWN_MS / 1000) },
    execArgv: ['--import', preload],
  });
});
afterEach(() => rig.expectWhole());
afterAll(() => rig.close());

const heard = z.object({ now: z.number() });
const beat = z.object({ directive: z.string(), lease_expires_at: z.iso.datetime() });
const task = z.object({
  lease_expires_at: z.iso.datetime().nullable(),
  not_before: z.iso.datetime().nullable(),
});

async function databaseNow(): Promise<number> {
  const { rows } = await rig.database.pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return rows[0]?.now.getTime() ?? Number.NaN;
}

/** When the log says that something happened to a task, once it does. */
async function timeOf(taskId: string, type: string): Promise<number> {
  let at = Number.NaN;
  await until(`${type} is in the log`, async () => {
    const { rows } = await rig.database.pool.query<{ at: Date }>(
      `SELECT at FROM events WHERE type = $2 AND 'task_' || task_id = $1`,
      [taskId, type],
    );
    at = rows[0]?.at.getTime() ?? Number.NaN;
    return rows.length > 0;
  });
  return at;
}

async function taskOf(id: string) {
  const { text } = await read(rig.service.url, rig.service.key('planner'), `/tasks/${id}`);
  return task.parse(JSON.parse(text));
}

function expectSoonAfter(time: number, due: number): void {
  expect(time).toBeGreaterThanOrEqual(due);
  expect(time - due).toBeLessThan(LATE_MS);
}

describe.each([
  { way: 'an hour ahead', shiftMs: HOUR_MS },
  { way: 'an hour behind', shiftMs: -HOUR_MS },
])('when the clock of the service is put $way', ({ shiftMs }) => {
  test('leases, waiting times and cooldowns do not notice', async () => {
    const { service, board } = rig;
    const long = await board.claimed({ lease_seconds: 300 });
    const { now } = heard.parse(await service.ask({ shiftMs }));
    expect(Math.abs(now - Date.now() - shiftMs)).toBeLessThan(60_000);

    const short = await board.claimed({ lease_seconds: 1 });
    const shortEnds = Date.parse((await taskOf(short.id)).lease_expires_at ?? '');
    const dueAt = (await databaseNow()) + 1_500;
    const waits = await board.created({ not_before: new Date(dueAt).toISOString() });
    const fails = await board.claimed();
    await board.done(
      board.on('executor', fails.id, 'fail', {
        lease_token: fails.lease_token,
        error: { message: 'no answer' },
      }),
    );

    const early = await sendOnce(service.url, board.on('executor', waits, 'claim'));
    expect(early?.status).toBe(409);

    expectSoonAfter(await timeOf(short.id, 'task.lease_expired'), shortEnds);
    const tripped = await timeOf(fails.id, 'trip.opened');
    expectSoonAfter(await timeOf(fails.id, 'task.auto_recovered'), tripped + COOLDOWN_MS);
    await board.done(board.on('executor', waits, 'claim'));
    expectSoonAfter(await timeOf(waits, 'task.claimed'), dueAt);

    const { lease_token } = long;
    const heartbeat = await sendOnce(
      service.url,
      board.on('executor', long.id, 'heartbeat', { lease_token }),
    );
    const { directive, lease_expires_at } = beat.parse(JSON.parse(heartbeat?.text ?? ''));
    expect(directive).toBe('continue');
    expectSoonAfter(await databaseNow(), Date.parse(lease_expires_at) - 300_000);
  });
});

test('a clock that jumps by an hour at every look does not keep the embedded database from starting', async () => {
  const folder = await makeFolder();
  let jumped = Date.now();
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => {
    jumped += HOUR_MS;
    return jumped;
  });
  try {
    const embedded = await openEmbedded({ dataDir: folder.path, log: quietLog });
    await embedded.stop();
  } finally {
    clock.mockRestore();
    await folder.remove();
  }
});
