import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '../../../src/db/migrate.js';
import { readMigrations, readSchema } from '../../../src/db/migration-files.js';
import { applyMigrations, schemaDiff } from '../../../src/db/schema-engine.js';
import { audit } from '../../support/audit.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { schemaLines } from '../../support/schema-lines.js';
import { quietLog } from '../../support/server.js';
import { restoreFirstRelease } from './first-release.js';
import { Load } from './load.js';
import { ADDITIVE, planted } from './planted.js';
import { walk } from './walk.js';

const NO_FAULTS = { held: [], changed: [] };
/** The project that the load works in; the rows of all others stay as they are. */
const WORKED_IN = 'another';

let database: TestDatabase;
beforeEach(async () => {
  database = await restoreFirstRelease();
});
afterEach(() => database.drop());

/** Every migration there is and one more, applied while a process works. */
async function walkUnderLoad(sql: string) {
  const load = await Load.begin(database.url, WORKED_IN);
  const faults = await walk(database, [...(await readMigrations()), planted(sql)], WORKED_IN);
  await load.more(20);
  return { ...faults, ...(await load.stop()) };
}

describe('a database of the first release', () => {
  it('walks step by step to the newest schema, keeps every row, and lets no write wait', async () => {
    const migrations = await readMigrations();
    for (let step = 2; step <= migrations.length; step += 1) {
      expect(await walk(database, migrations.slice(0, step), WORKED_IN)).toEqual(NO_FAULTS);
    }
    expect(await audit(database.pool)).toEqual({});
    const modelled = await createTestDatabase({ empty: true });
    await modelled.pool.query(await schemaDiff(modelled.url, await readSchema()));
    const [walked, wanted] = [await schemaLines(database.pool), await schemaLines(modelled.pool)];
    await modelled.drop();
    expect(walked).toEqual(expect.arrayContaining(wanted));
    const columns = (lines: string[]) => lines.filter((line) => line.startsWith('column '));
    expect(columns(walked)).toEqual(columns(wanted));
  });

  it('takes one that adds columns, an index and a check while a process works on', async () => {
    const { done, failures, ...faults } = await walkUnderLoad(ADDITIVE);
    expect(faults).toEqual(NO_FAULTS);
    expect(failures).toEqual([]);
    expect(done).toBeGreaterThanOrEqual(20);
    const { rows } = await database.pool.query(
      "SELECT count(*)::int AS done FROM tasks WHERE state = 'done' AND project_id = (SELECT id FROM projects WHERE name = $1) AND planted = 'new'",
      [WORKED_IN],
    );
    expect(rows).toEqual([{ done }]);
    expect(await audit(database.pool)).toEqual({});
  });
});

describe('a migration that fails half-way', () => {
  it('leaves every table as it was, and no version starts until somebody has looked', async () => {
    const before = await schemaLines(database.pool);
    const sql = `${ADDITIVE}\nSELECT 1 / 0;`;
    await expect(applyMigrations(database.url, [...(await readMigrations()), planted(sql)])).rejects.toThrow(
      'division by zero',
    );
    expect(await schemaLines(database.pool)).toEqual(before);
    await expect(migrate(database.url, { log: quietLog })).rejects.toThrow('began and never finished');
    await database.pool.query('DELETE FROM _prisma_migrations WHERE finished_at IS NULL');
    expect(await migrate(database.url, { log: quietLog })).toMatchObject({ applied: expect.any(Array) });
    expect(await audit(database.pool)).toEqual({});
  });
});

describe('a migration that must not be released is noticed', () => {
  it('when writes wait for its lock', async () => {
    const sql = 'LOCK TABLE attempts IN SHARE MODE; SELECT pg_sleep(1.5);';
    expect(await walk(database, [...(await readMigrations()), planted(sql)], WORKED_IN)).toEqual({
      held: ['attempts'],
      changed: [],
    });
  });

  it('when a row, a value, a column or a table is lost', async () => {
    const sql = `DELETE FROM dependencies;
      UPDATE tasks SET title = '' WHERE priority = 0;
      ALTER TABLE runs DROP COLUMN deadline_at;
      DROP TABLE breakers;`;
    const { held, changed } = await walk(database, [...(await readMigrations()), planted(sql)], WORKED_IN);
    expect(held).toEqual([]);
    expect([...changed].sort()).toEqual(['breakers', 'dependencies', 'runs', 'tasks']);
  });

  it('when a process that is there cannot go on', async () => {
    const { failures } = await walkUnderLoad(
      'ALTER TABLE tasks ADD COLUMN planted text; ALTER TABLE tasks RENAME COLUMN title TO name;',
    );
    expect(failures).not.toEqual([]);
  });
});
