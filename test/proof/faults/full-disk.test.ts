import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { expectBusy, readOnce, sendOnce } from './client.js';
import { mountDisk } from './disk.js';
import { expectWhole } from './harness.js';
import { Load } from './load.js';
import { type Rig, startRig } from './rig.js';
import { SCENES } from './scenes.js';
import { until } from './until.js';

const DISK_FULL = '53100';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterEach(() => rig.expectWhole());
afterAll(() => rig.close());

/**
 * While the log cannot grow a command is put off and leaves nothing behind, unless there is room for just this one; reads go
 * on; and when there is space again everything does by itself. Answers how many of the commands of every kind were put off.
 */
async function putOff(
  seed: number,
  fill: () => Promise<unknown>,
  clear: () => Promise<unknown>,
): Promise<number> {
  const { service, database, board } = rig;
  const commands = [];
  for (const scene of Object.values(SCENES)) commands.push(await scene(rig));
  const load = new Load(service, { clients: 16, seed });
  await load.more(50);
  await fill();
  let count = 0;
  for (const command of commands) {
    const reply = (await sendOnce(service.url, command)) ?? expect.fail('the service did not answer');
    const isPutOff = reply.status >= 300;
    if (isPutOff) expectBusy(reply);
    expect(await rig.timesInLog(command)).toBe(isPutOff ? 0 : 1);
    count += Number(isPutOff);
  }
  expect((await readOnce(service.url, service.key('planner'), '/tasks'))?.status).toBe(200);
  await expectWhole(database.pool, load);
  await clear();
  await load.more(50);
  for (const command of commands) await board.done(command);
  await load.stop();
  await expectWhole(database.pool, load, { all: true });
  return count;
}

test('without space for the log every command is put off whole, and carried out when there is space again', async () => {
  const { pool } = rig.database;
  await pool.query(`CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '${DISK_FULL}'; END $$`);
  const fill =
    'CREATE TRIGGER no_space BEFORE INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION no_space()';
  const count = await putOff(
    5,
    () => pool.query(fill),
    () => pool.query('DROP TRIGGER no_space ON events'),
  );
  expect(count).toBe(Object.keys(SCENES).length);
}, 60_000);

const disk = await mountDisk(4);
afterAll(() => disk?.remove());

// Mounting needs rights that a container may not have; there the trigger alone stands for the disk.
test.skipIf(disk === null)('likewise on a disk that is really full', { timeout: 60_000 }, async () => {
  const { pool } = rig.database;
  const name = `small_${randomBytes(8).toString('hex')}`;
  await pool.query(`CREATE TABLESPACE ${name} LOCATION '${disk?.path}'`);
  try {
    await pool.query(`ALTER TABLE events SET TABLESPACE ${name}`);
    await pool.query(`CREATE TABLE ballast (line text) TABLESPACE ${name}`);
    expect(await putOff(6, fillDisk, () => pool.query('DROP TABLE ballast'))).toBeGreaterThan(0);
  } finally {
    await pool.query('DROP TABLE IF EXISTS ballast');
    await pool.query('ALTER TABLE events SET TABLESPACE pg_default');
    await pool.query(`DROP TABLESPACE ${name}`);
  }
});

/** Fills the disk, and waits until the last page of the log is full too. */
async function fillDisk(): Promise<void> {
  const { database, board, service } = rig;
  await until('the disk is full', () =>
    database.pool.query("INSERT INTO ballast SELECT repeat('x', 1000) FROM generate_series(1, 500)").then(
      () => false,
      (error: unknown) => {
        if (error instanceof pg.DatabaseError && error.code === DISK_FULL) return true;
        throw error;
      },
    ),
  );
  await until('the log is full', async () => {
    const command = board.command('planner', '/tasks', 'task.created', { title: 'The last one' });
    return (await sendOnce(service.url, command))?.status === 503;
  });
}
