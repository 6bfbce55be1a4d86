import type pg from 'pg';
import type { Product } from './product.js';

/** A database of the product's schema, whose board can be set up anew. */
export interface Database {
  readonly url: string;
  readonly client: pg.Client;
  /** Leaves exactly so many tasks: `waiting` to be claimed and `done` behind them. */
  fill(waiting: number, done?: number): Promise<void>;
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
  const reply = await fetch(`http://127.0.0.1:${product.port}/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${product.plannerKey}` },
    body: JSON.stringify(TASK),
  });
  if (!reply.ok) throw new Error(`the template was refused: ${await reply.text()}`);
  await client.query('CREATE TABLE bench_template AS SELECT * FROM tasks');
  const { rows } = await client.query<{ name: string }>(
    `SELECT quote_ident(column_name) AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = 'tasks' AND is_generated = 'NEVER' ORDER BY ordinal_position`,
  );
  const columns = rows.map(({ name }) => name);
  return { url, client, fill: (waiting, done = 0) => fill(client, columns, waiting, done) };
}

/** What differs from the template in a task that is done. */
const DONE: Readonly<Record<string, string>> = {
  state: `'done'`,
  queue: 'NULL',
  attempt: '1',
  lease_token: '1',
  version: '4',
  finished_at: 'now()',
};

async function fill(
  client: pg.Client,
  columns: readonly string[],
  waiting: number,
  done: number,
): Promise<void> {
  const insert = (values: Readonly<Record<string, string>>, count: number): Promise<unknown> =>
    client.query(
      `INSERT INTO tasks (${columns.join(', ')}) SELECT ${columns.map((name) => values[name] ?? `t.${name}`).join(', ')}
        FROM bench_template t, generate_series(1, $1::int)`,
      [count],
    );
  await client.query('TRUNCATE tasks');
  await insert({ id: 'uuidv7()', ...DONE }, done);
  await insert({ id: 'uuidv7()' }, waiting);
  await client.query('UPDATE runs SET task_counts = $1', [JSON.stringify({ pending: waiting, done })]);
  // Running services see that somebody else has moved the project, and read it anew.
  await client.query('UPDATE projects SET revision = revision + 1');
  // What autovacuum would do sooner or later, in the middle of a measurement.
  await client.query(`VACUUM (ANALYZE) ${TABLES}`);
  await client.query('CHECKPOINT');
}
