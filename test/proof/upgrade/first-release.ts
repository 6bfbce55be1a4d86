import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { readMigrations } from '../../../src/db/migration-files.js';
import { applyMigrations } from '../../../src/db/schema-engine.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

const NAME = fileURLToPath(new URL('./first-release', import.meta.url));
const key = z.string();

/** When it was recorded, the keys of the five first agents, and a command with the answer that was kept for its key. */
const about = z.object({
  recorded_at: z.iso.datetime().transform((at) => Date.parse(at)),
  keys: z.object({ planner: key, executor: key, reviewer: key, manager: key, operator: key }),
  repeat: z.object({ path: z.string(), key: z.string(), body: z.looseObject({}), answer: z.looseObject({}) }),
});
const answer = z.object({ path: z.string(), body: z.looseObject({}) });

/** What the first released version left: its database, and what it answered. `scripts/record-release.ts` writes it. */
export async function readFirstRelease() {
  const [first = '', ...others] = (await readFile(`${NAME}.jsonl`, 'utf8')).trimEnd().split('\n');
  const { recorded_at: recordedAt, keys, repeat } = about.parse(JSON.parse(first));
  return { recordedAt, keys, repeat, answers: others.map((line) => answer.parse(JSON.parse(line))) };
}

/** A database as that version left it, with no migration but the first. */
export async function restoreFirstRelease(): Promise<TestDatabase> {
  const database = await createTestDatabase({ empty: true });
  await applyMigrations(database.url, (await readMigrations()).slice(0, 1));
  await database.pool.query(await readFile(`${NAME}.sql`, 'utf8'));
  // Kept answers are given for three days; these were kept just now.
  await database.pool.query('UPDATE idempotency_keys SET created_at = now()');
  return database;
}
