/**
 * Records what a released version leaves behind, for the test that walks it to the newest version: fills the database of a running
 * service, and writes its rows and its answers to two files.
 *
 *   tsx scripts/record-release.ts DATA_DIR DATABASE_URL test/proof/upgrade/NAME
 *
 * Start that version on an empty database first, with a data folder of its own, so that its keys may be published.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { Caller } from './record/caller.js';
import { Life } from './record/life.js';

const [dataDir = '', databaseUrl = '', target = ''] = process.argv.slice(2);

/** In an order in which each row finds those that it names. */
const TABLES = [
  ...['projects', 'agents', 'api_keys', 'runs', 'tasks', 'dependencies', 'attempts'],
  ...['trips', 'breakers', 'events', 'idempotency_keys'],
];
/** What a list of the service is asked for, page by page. What changes with time alone is not. */
const LISTS = ['/v1/tasks', '/v1/runs', '/v1/trips', '/v1/breakers', '/v1/events'];

async function settingsIn(folder: string): Promise<{ url: string; keys: Record<string, string> }> {
  const lines = (await readFile(join(folder, 'keys.env'), 'utf8')).split('\n').filter((line) => line !== '');
  const values = new Map(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const roles = ['planner', 'executor', 'reviewer', 'manager', 'operator'];
  const keys = roles.map((role) => [role, values.get(`FUSEBOARD_${role.toUpperCase()}_KEY`) ?? '']);
  return { url: values.get('FUSEBOARD_URL') ?? '', keys: Object.fromEntries(keys) };
}

async function* answersOf(caller: Caller): AsyncGenerator<{ path: string; body: unknown }> {
  const tasks: string[] = [];
  for (const list of LISTS) {
    for (let path: string | null = `${list}?limit=50`; path !== null; ) {
      const { body } = await caller.ask('operator', 'GET', path);
      yield { path, body };
      if (list === '/v1/tasks' && Array.isArray(body.data))
        tasks.push(...body.data.map(({ id }) => String(id)));
      path =
        body.next_cursor === null || body.next_cursor === undefined
          ? null
          : `${list}?limit=50&cursor=${body.next_cursor}`;
    }
  }
  for (const id of tasks) {
    const path = `/v1/tasks/${id}/attempts`;
    const { body } = await caller.ask('operator', 'GET', path);
    yield { path, body };
  }
}

async function dumpOf(database: pg.Client): Promise<string> {
  const parts = ['-- Written by scripts/record-release.ts; not to be edited.'];
  for (const table of TABLES) {
    const { rows } = await database.query<{ row: string }>(
      `SELECT (SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(t)) WHERE value <> 'null')::text AS row
        FROM ${table} t ORDER BY t`,
    );
    const lines = rows.map(({ row }) => row.replaceAll("'", "''"));
    parts.push(
      `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, '[\n${lines.join(',\n')}\n]');`,
    );
  }
  return `${parts.join('\n')}\n`;
}

const { url, keys } = await settingsIn(dataDir);
const caller = new Caller(url, keys);
const database = new pg.Client({ connectionString: databaseUrl });
await database.connect();
try {
  const repeat = await new Life(caller).live();
  const { rows } = await database.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  const lines: unknown[] = [{ recorded_at: rows[0]?.at, keys, repeat }];
  for await (const line of answersOf(caller)) lines.push(line);
  await writeFile(`${target}.jsonl`, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  await writeFile(`${target}.sql`, await dumpOf(database));
} finally {
  await database.end();
}
