import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSchema } from '../../src/db/migration-files.js';
import { schemaDiff } from '../../src/db/schema-engine.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { schemaLines } from '../support/schema-lines.js';

let migrated: TestDatabase;
let modelled: TestDatabase;

beforeAll(async () => {
  migrated = await createTestDatabase();
  modelled = await createTestDatabase({ empty: true });
  await modelled.pool.query(await schemaDiff(modelled.url, await readSchema()));
});

afterAll(async () => {
  await migrated.drop();
  await modelled.drop();
});

test('the migrations make all that schema.prisma describes', async () => {
  expect(await schemaLines(migrated.pool)).toEqual(expect.arrayContaining(await schemaLines(modelled.pool)));
});

test('schema.prisma knows every table and column that the migrations make', async () => {
  const columns = (lines: string[]) => lines.filter((line) => line.startsWith('column '));
  expect(columns(await schemaLines(migrated.pool))).toEqual(columns(await schemaLines(modelled.pool)));
});
