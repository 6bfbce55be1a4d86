import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/db/migrate.js';
import { readMigrations } from '../../src/db/migration-files.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { schemaLines } from '../support/schema-lines.js';
import { quietLog } from '../support/server.js';

const log = quietLog;
let database: TestDatabase;

afterEach(async () => {
  await database.drop();
});

describe('an empty database', () => {
  beforeEach(async () => {
    database = await createTestDatabase({ empty: true });
  });

  test('gets every migration, in order, once, however many processes start at once', async () => {
    const all = (await readMigrations()).map(({ name }) => name);
    const answers = await Promise.all([1, 2, 3, 4].map(() => migrate(database.url, { log })));
    expect(answers.flatMap(({ applied }) => applied)).toEqual(all);
    const { rows } = await database.pool.query(
      'SELECT migration_name AS name FROM _prisma_migrations ORDER BY started_at',
    );
    expect(rows.map(({ name }) => name)).toEqual(all);
  });

  test('in which something stands in the way is left as it was, and told what, by the start that finds out and by the next', async () => {
    const inTheWay = 'refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN END $$';
    await database.pool.query(`CREATE FUNCTION ${inTheWay}`);
    const [first] = await readMigrations();
    await expect(migrate(database.url, { log })).rejects.toThrow(
      `The migration ${first?.name} failed: function "refuse_change" already exists`,
    );
    expect(await schemaLines(database.pool)).toEqual([]);
    await expect(migrate(database.url, { log })).rejects.toThrow('began and never finished');
    await database.pool.query('DROP FUNCTION refuse_change; DELETE FROM _prisma_migrations');
    expect((await migrate(database.url, { log })).applied).toContain(first?.name);
  });
});

describe('a migrated database', () => {
  beforeEach(async () => {
    database = await createTestDatabase();
  });

  test('is left alone', async () => {
    expect(await migrate(database.url, { log })).toEqual({ applied: [] });
  });

  test('is refused when it knows a migration that this version does not', async () => {
    await database.pool.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
       VALUES ('later', 'x', '99990101000000_later', now())`,
    );
    await expect(migrate(database.url, { log })).rejects.toThrow('a newer Fuseboard has used it');
  });

  test('is refused when one of its migrations was changed afterwards', async () => {
    await database.pool.query("UPDATE _prisma_migrations SET checksum = 'other'");
    await expect(migrate(database.url, { log })).rejects.toThrow(
      'was changed after this database applied it',
    );
  });

  test('is refused when a migration stopped half-way', async () => {
    await database.pool.query('UPDATE _prisma_migrations SET finished_at = NULL');
    await expect(migrate(database.url, { log })).rejects.toThrow('began and never finished');
  });
});
