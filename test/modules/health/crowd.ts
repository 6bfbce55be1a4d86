import pg from 'pg';

/**
 * Makes a board large: so many copies of every task of its only project, each with its attempts, trips and events, behind those
 * that are there. The tasks must not depend on each other.
 */
export async function crowd(databaseUrl: string, copies: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(`CREATE TEMP TABLE twins ON COMMIT DROP AS
      SELECT id, copy, gen_random_uuid() AS twin FROM (SELECT id FROM tasks UNION ALL SELECT id FROM trips WHERE scope = 'task') o
        CROSS JOIN generate_series(1, ${copies}) AS copy`);
    await client.query('CREATE INDEX ON twins (id, copy)');
    await client.query('ANALYZE twins');
    for (const [table, replaced] of Object.entries(REPLACED)) await client.query(copying(table, replaced));
    const task = await columnsOf(client, 'events');
    await client.query(`INSERT INTO events (${task.join(', ')})
      SELECT ${task.map((column) => EVENT[column] ?? `e.${column}`).join(', ')}
      FROM (SELECT *, row_number() OVER (ORDER BY position) AS place, count(*) OVER () AS places, max(position) OVER () AS last,
          max(at) OVER () AS latest FROM events WHERE task_id IS NOT NULL) e
        JOIN twins t ON t.id = e.task_id, (SELECT position AS before FROM projects) p`);
    await client.query(`UPDATE runs SET tokens_used = tokens_used * ${copies + 1}, cost_micros = cost_micros * ${copies + 1},
      task_counts = (SELECT jsonb_object_agg(key, value::int * ${copies + 1}) FROM jsonb_each_text(task_counts))`);
    await client.query(
      'UPDATE projects SET revision = revision + 1, position = (SELECT max(position) FROM events)',
    );
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}

/** In a copied event: its place behind all earlier ones, and a time at which it could have happened there. */
const EVENT: Readonly<Record<string, string>> = {
  id: 'gen_random_uuid()',
  task_id: 't.twin',
  position: 'p.before + (t.copy - 1) * e.places + e.place',
  at: 'e.latest',
};

/** By table, the columns that name a task or a trip. */
const REPLACED = { tasks: ['id', 'open_trip_id'], attempts: ['task_id'], trips: ['id', 'task_id'] } as const;

function copying(table: string, replaced: readonly string[]): string {
  const [own = '', other] = replaced;
  const twin = (column: string): string =>
    `(SELECT twin FROM twins x WHERE x.id = o.${column} AND x.copy = t.copy)`;
  const values = [`'${own}', t.twin`, ...(other === undefined ? [] : [`'${other}', ${twin(other)}`])];
  return `INSERT INTO ${table} SELECT r.* FROM ${table} o JOIN twins t ON t.id = o.${own}
    CROSS JOIN LATERAL jsonb_populate_record(o, jsonb_build_object(${values.join(', ')})) r`;
}

async function columnsOf(client: pg.Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position',
    [table],
  );
  return rows.map(({ name }) => name);
}
