import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BootDeps, bootstrap } from '../src/bootstrap.js';
import { loadConfig } from '../src/config.js';
import { createPrisma } from '../src/db/prisma.js';
import { createDeps } from '../src/deps.js';
import { createLog } from '../src/http/index.js';
import { ROLES } from '../src/kernel/actor.js';
import { databaseClock } from '../src/kernel/clock.js';
import { newId } from '../src/kernel/ids.js';
import { KeysFile } from '../src/keys-file.js';
import { createTestDatabase, type TestDatabase } from './support/database.js';
import { makeFolder } from './support/server.js';

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof makeFolder>>;
beforeEach(async () => {
  database = await createTestDatabase();
  folder = await makeFolder();
});
afterEach(async () => {
  await database.drop();
  await folder.remove();
});

/** One process of several over the same database. */
function process(): BootDeps & { authenticate(key: string): Promise<readonly string[] | null> } {
  const config = loadConfig({ DATABASE_URL: database.url, LOG_LEVEL: 'silent' });
  const log = createLog(config.logLevel, { write: () => undefined });
  const { pool } = database;
  const deps = createDeps({
    config,
    log,
    databaseUrl: database.url,
    pool,
    prisma: createPrisma(pool),
    clock: databaseClock,
    newId,
  });
  return {
    ...deps.administration,
    databaseUrl: database.url,
    log: log.logger,
    isKnownKey: (key) => deps.agents.isKnownKey(key),
    authenticate: async (key) => (await deps.agents.authenticate(key))?.roles ?? null,
  };
}

async function count(table: 'projects' | 'agents' | 'api_keys' | 'runs'): Promise<number> {
  const { rows } = await database.pool.query(`SELECT count(*) AS n FROM ${table}`);
  return rows[0].n;
}

it('the first start makes the default project and writes a key for each role, for the owner alone', async () => {
  const one = process();
  const file = new KeysFile(join(folder.path, 'data'));
  await bootstrap(one, file);
  const keys = await file.keys(ROLES);
  for (const role of ROLES) expect(await one.authenticate(keys.get(role) ?? '')).toEqual([role]);
  expect((await stat(file.path)).mode & 0o777).toBe(0o600);
  expect([await count('projects'), await count('agents'), await count('runs')]).toEqual([1, 5, 1]);
});

it('a later start leaves everything as it is, and writes the address it has', async () => {
  const file = new KeysFile(folder.path);
  await bootstrap(process(), file);
  await file.putUrl('http://127.0.0.1:1');
  const before = await readFile(file.path, 'utf8');
  await bootstrap(process(), file);
  expect(await readFile(file.path, 'utf8')).toBe(before);
  await file.putUrl('http://127.0.0.1:2');
  expect(await readFile(file.path, 'utf8')).toBe(before.replace(':1\n', ':2\n'));
  expect(await count('api_keys')).toBe(5);
});

it('processes that start at once agree on one project and one file', async () => {
  const file = new KeysFile(folder.path);
  await Promise.all(Array.from({ length: 5 }, () => bootstrap(process(), file)));
  expect([await count('projects'), await count('agents'), await count('api_keys')]).toEqual([1, 5, 5]);
  const one = process();
  for (const [role, key] of await file.keys(ROLES)) expect(await one.authenticate(key)).toEqual([role]);
});

it('a start whose file is missing writes new keys and revokes none', async () => {
  const one = process();
  const lost = new KeysFile(join(folder.path, 'lost'));
  await bootstrap(one, lost);
  const file = new KeysFile(folder.path);
  await bootstrap(one, file);
  for (const keys of [await lost.keys(ROLES), await file.keys(ROLES)]) {
    for (const role of ROLES) expect(await one.authenticate(keys.get(role) ?? '')).toEqual([role]);
  }
  expect([await count('agents'), await count('api_keys')]).toEqual([5, 10]);
});

it('keys of another database are replaced, and other lines of the file are kept', async () => {
  const foreign = `fb_${'0'.repeat(16)}_${'0'.repeat(38)}`;
  await mkdir(folder.path, { recursive: true });
  const file = new KeysFile(folder.path);
  await writeFile(file.path, `# mine\nFUSEBOARD_PLANNER_KEY=${foreign}\nOTHER=1\n`);
  const one = process();
  await bootstrap(one, file);
  await bootstrap(one, file);
  const text = await readFile(file.path, 'utf8');
  expect(text).toContain('# mine\n');
  expect(text).toContain('OTHER=1\n');
  expect(text).not.toContain(foreign);
  expect(await count('api_keys')).toBe(5);
});
