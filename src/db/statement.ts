import type pg from 'pg';

/** A named statement with its parameters: prepared once a connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What statements run on: the pool, or one connection of it. */
export type Queryable = Pick<pg.Pool | pg.PoolClient, 'query'>;

/** Runs a statement and answers its rows, typed by the caller who wrote the statement. */
export async function rowsOf<Row extends pg.QueryResultRow>(
  db: Queryable,
  statement: Statement,
): Promise<Row[]> {
  const result = await db.query<Row>({
    name: statement.name,
    text: statement.text,
    values: [...statement.values],
  });
  return result.rows;
}

type Cell = string | number | boolean | null;

/**
 * A column of many rows as one array parameter. Postgres' array literal, built here because the driver's own conversion of
 * arrays costs several times as much on the hot path.
 */
export function column<Row>(rows: readonly Row[], cell: (row: Row) => Cell): string {
  let literal = '{';
  for (let i = 0; i < rows.length; i++) {
    if (i > 0) literal += ',';
    const row = rows[i];
    literal += row === undefined ? 'NULL' : quoted(cell(row));
  }
  return `${literal}}`;
}

function quoted(value: Cell): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `"${value.replace(/[\\"]/g, '\\$&')}"`;
  return String(value);
}

/** An array column's value as text, for a row inside an array of rows: such a column travels as JSON. */
export function json(value: unknown): string {
  return JSON.stringify(value);
}

/** A time of ours (milliseconds since the epoch) as the database reads it. */
export function timestamp(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
