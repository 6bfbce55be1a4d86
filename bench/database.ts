import type pg from 'pg';
import type { Product } from './product.js';

/** Tasks of one kind: how many, and what differs from the template, column by column in SQL; `n` counts them from 1. */
export interface Group {
  readonly count: number;
  readonly as?: Readonly<Record<string, string>>;
}

/** A database of the product's schema, whose board can be set up anew. */
export interface Database {
  readonly url: string;
  readonly client: pg.Client;
  /** Leaves exactly these tasks. */
  fill(...groups: readonly Group[]): Promise<void>;
}

const TASK = {
  title: 'Fetch the last 50 posts of the feed',
  description:
    'Read the feed to its end and keep the last 50 posts, each with its author, its time and its text. ' +
    'Posts that were deleted in the meantime are left out. Write them to posts.json, the newest first.',
  acceptance: ['50 posts are stored', 'no post is stored twice'],
  labels: ['crawl'],
};

/** Tables that `fill` empties or changes, with the counts they need for good plans. */
const TABLES = 'tasks, attempts, runs, projects, dependencies';

/** Has the product make one task, and keeps it as the template of all others. */
export async function prepareDatabase(client: pg.Client, url: string, product: Product): Promise<Database> {
  await product.post('/v1/tasks', product.plannerKey, TASK);
  await client.query('CREATE TABLE bench_template AS SELECT * FROM tasks');
  const { rows } = await client.query<{ name: string }>(
    `SELECT quote_ident(column_name) AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = 'tasks' AND is_generated = 'NEVER' ORDER BY ordinal_position`,
  );
  const columns = rows.map(({ name }) => name);
  return { url, client, fill: (...groups) => fill(client, columns, groups) };
}

/** What differs from the template in a task that is done. */
export const DONE: NonNullable<Group['as']> = {
  state: `'done'`,
  queue: 'NULL',
  attempt: '1',
  lease_token: '1',
  version: '4',
  finished_at: 'now()',
};

/** What puts a task that waits before all others. */
export const FIRST: NonNullable<Group['as']> = { priority: '0', rank: '1' };

async function fill(client: pg.Client, columns: readonly string[], groups: readonly Group[]): Promise<void> {
  await client.query('TRUNCATE tasks');
  for (const { count, as = {} } of groups) {
    const values: Readonly<Record<string, string>> = { id: 'uuidv7()', ...as };
    await client.query(
      `INSERT INTO tasks (${columns.join(', ')}) SELECT ${columns.map((name) => values[name] ?? `t.${name}`).join(', ')}
        FROM bench_template t, generate_series(1, $1::int) AS n`,
      [count],
    );
  }
  await client.query(
    `UPDATE runs r SET task_counts = coalesce((SELECT jsonb_object_agg(state, count) FROM
      (SELECT state, count(*) FROM tasks WHERE run_id = r.id GROUP BY state) AS counts), '{}')`,
  );
  // Running services see that somebody else has moved the project, and read it anew.
  await client.query('UPDATE projects SET revision = revision + 1');
  // What autovacuum would do sooner or later, in the middle of a measurement.
  await client.query(`VACUUM (ANALYZE) ${TABLES}`);
  await client.query('CHECKPOINT');
}
