import pg from 'pg';
import type { Migration } from '../../../src/db/migration-files.js';
import { applyMigrations } from '../../../src/db/schema-engine.js';
import type { TestDatabase } from '../../support/database.js';

/** Longer than this no command may wait for a migration. */
const LOCK_MAX_MS = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';
const UNDEFINED_TABLE = '42P01';

/** What is wrong with a step from one schema to the next. */
export interface StepFaults {
  /** Tables that a write had to wait for too long. */
  readonly held: readonly string[];
  /** Tables of which a row, or something in one, is not what it was. */
  readonly changed: readonly string[];
}

/** The tables, each with its columns. */
async function columnsOf(pool: pg.Pool): Promise<Map<string, string[]>> {
  const { rows } = await pool.query<{ table: string; columns: string[] }>(
    `SELECT c.table_name AS table, array_agg(c.column_name::text ORDER BY c.ordinal_position) AS columns
      FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.table_name <> '_prisma_migrations' GROUP BY c.table_name`,
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}

/** A digest of each table's rows, of the given columns and of all projects but one. */
async function digestsOf(
  pool: pg.Pool,
  tables: ReadonlyMap<string, readonly string[]>,
  without: string,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for (const [table, columns] of tables) digests.set(table, await digestOf(pool, table, columns, without));
  return digests;
}

async function digestOf(
  pool: pg.Pool,
  table: string,
  columns: readonly string[],
  without: string,
): Promise<string> {
  try {
    const { rows } = await pool.query<{ digest: string | null }>(
      `SELECT count(*) || md5(string_agg(kept, ',' ORDER BY kept)) AS digest FROM (
        SELECT (SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(t)) WHERE key = ANY($1))::text AS kept FROM ${table} t
        WHERE ${columns.includes('project_id') ? 'project_id' : 'id'} NOT IN (SELECT id FROM projects WHERE name = $2)) k`,
      [columns, without],
    );
    return rows[0]?.digest ?? 'none';
  } catch (error) {
    if (hasCode(error, UNDEFINED_TABLE)) return 'gone';
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof pg.DatabaseError && error.code === code;
}

/** Writes to every table again and again, changing nothing. */
class Probe {
  private readonly held = new Set<string>();
  private isOver = false;
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly client: pg.Client,
    private readonly tables: readonly string[],
  ) {}

  /** Answers once every table was written to. */
  async begin(): Promise<void> {
    await this.client.connect();
    await this.client.query(`SET lock_timeout = ${LOCK_MAX_MS}`);
    await this.round();
    this.running = this.goOn();
  }

  /** The tables that it ever had to wait for too long. */
  async end(): Promise<string[]> {
    this.isOver = true;
    await this.running.finally(() => this.client.end());
    return [...this.held];
  }

  private async goOn(): Promise<void> {
    while (!this.isOver) await this.round();
  }

  private async round(): Promise<void> {
    for (const table of this.tables) {
      try {
        await this.client.query(`DELETE FROM ${table} WHERE false`);
      } catch (error) {
        if (hasCode(error, LOCK_NOT_AVAILABLE)) this.held.add(table);
        else if (!hasCode(error, UNDEFINED_TABLE)) throw error;
      }
    }
  }
}

/** Applies migrations while every table is in use, and compares the rows before and after, but those of one project. */
export async function walk(
  { url, pool }: TestDatabase,
  migrations: readonly Migration[],
  without: string,
): Promise<StepFaults> {
  const tables = await columnsOf(pool);
  const before = await digestsOf(pool, tables, without);
  const probe = new Probe(new pg.Client({ connectionString: url }), [...tables.keys()]);
  await probe.begin();
  let held: readonly string[] = [];
  try {
    await applyMigrations(url, migrations);
  } finally {
    held = await probe.end();
  }
  const after = await digestsOf(pool, tables, without);
  return { held, changed: [...tables.keys()].filter((table) => before.get(table) !== after.get(table)) };
}
