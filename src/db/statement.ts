import type pg from 'pg';

/** A named statement with its parameters: prepared once a connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The edges of a transaction, prepared like every other statement so that they travel with those between them. */
export const BEGIN: Statement = { name: 'begin', text: 'BEGIN', values: [] };
export const COMMIT: Statement = { name: 'commit', text: 'COMMIT', values: [] };
export const ROLLBACK: Statement = { name: 'rollback', text: 'ROLLBACK', values: [] };

/** The process's connections, and one of them. */
export type { Pool, PoolClient } from 'pg';

/** What statements run on: the pool, or one connection of it. */
export type Queryable = Pick<pg.Pool | pg.PoolClient, 'query'>;

/** Ends a connection that is in no known state, and lets its pool hear why. */
export function discard(client: pg.PoolClient, error: unknown): void {
  client.release(error instanceof Error ? error : true);
}

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
 * A column of many rows as one array parameter, in Postgres' array literal. Built here because the driver's own conversion
 * of arrays costs several times as much on the hot path. For text of any content.
 */
export function texts<Row>(rows: readonly Row[], cell: (row: Row) => string | null): string {
  return literal(rows, (row) => {
    const value = cell(row);
    return value === null ? 'NULL' : `"${NEEDS_ESCAPE.test(value) ? value.replace(ESCAPED, '\\$&') : value}"`;
  });
}

const NEEDS_ESCAPE = /[\\"]/;
const ESCAPED = /[\\"]/g;

/** Likewise for cells that need no quotes: ids, numbers, times, the words of our own lists. */
export function plain<Row>(rows: readonly Row[], cell: (row: Row) => Cell): string {
  return literal(rows, (row) => String(cell(row) ?? 'NULL'));
}

function literal<Row>(rows: readonly Row[], cell: (row: Row) => string): string {
  let text = '{';
  for (const row of rows) text += text.length === 1 ? cell(row) : `,${cell(row)}`;
  return `${text}}`;
}

/**
 * A column of JSON values as one JSON array, for `jsonb_array_elements`: inside an array literal every quote of every value
 * would have to be escaped. A missing value travels as JSON null; `nullif(column, 'null')` makes it SQL's.
 */
export function jsons<Row>(rows: readonly Row[], cell: (row: Row) => unknown): string {
  let text = '[';
  for (const row of rows) {
    const value = JSON.stringify(cell(row) ?? null);
    text += text.length === 1 ? value : `,${value}`;
  }
  return `${text}]`;
}

/** A column of rows that travel as parameters: its name and type; `json` for one made by `jsons`. */
export type Column = readonly [name: string, type: string];

/** Up to so many rows a subscript for each cell is cheaper than a set-returning function for each column. */
const FEW_ROWS = 128;

/**
 * The text of a statement over rows that travel as columns, one parameter each, from $2 on; `rows` stands for them, as `u`. For
 * few rows they are picked by subscript: each set-returning function costs the server several microseconds before its first row,
 * and a batch has some eighty columns. A subscript has to count from the start of its array, so many rows are unnested.
 */
export function overColumns(
  name: string,
  columns: readonly Column[],
  text: (rows: string) => string,
): (count: number) => Pick<Statement, 'name' | 'text'> {
  const cells = columns.map(([column, type], i) =>
    type === 'json' ? `$${i + 2}::jsonb -> (n - 1) AS ${column}` : `($${i + 2}::${type}[])[n] AS ${column}`,
  );
  const sets = columns.map(([, type], i) =>
    type === 'json' ? `jsonb_array_elements($${i + 2}::jsonb)` : `unnest($${i + 2}::${type}[])`,
  );
  const names = columns.map(([column]) => column).join(', ');
  const size = `cardinality($2::${columns[0]?.[1]}[])`;
  const few = {
    name: `${name}_few`,
    text: text(`(SELECT ${cells.join(', ')} FROM generate_series(1, ${size}) AS n) AS u`),
  };
  const many = { name, text: text(`ROWS FROM (${sets.join(', ')}) AS u(${names})`) };
  return (count) => (count > FEW_ROWS ? many : few);
}

/** A time of ours (milliseconds since the epoch) as the database reads it. */
export function timestamp(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

const combinations = new Map<string, { readonly name: string; readonly text: string }>();

/**
 * A SELECT and the writes after it as one statement, which is a transaction of its own: one message there and one back. The
 * SELECT runs first. All see the rows as they were before the statement, so none may write or need a row that another writes.
 */
export function combine(select: Statement, writes: readonly Statement[]): Statement {
  const statements = [select, ...writes];
  const key = statements.map(({ name }) => name).join(' ');
  let combination = combinations.get(key);
  if (combination === undefined) {
    let offset = 0;
    const [first = '', ...others] = statements.map(({ text, values }) => {
      const shift = offset;
      offset += values.length;
      return text.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + shift}`);
    });
    const parts = others.map((text, index) => `write_${index} AS (${text})`);
    combination = {
      name: `combined_${combinations.size}`,
      text: parts.length === 0 ? first : `WITH ${parts.join(', ')} ${first}`,
    };
    combinations.set(key, combination);
  }
  return { ...combination, values: statements.flatMap(({ values }) => values) };
}
