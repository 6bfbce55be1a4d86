import pg from 'pg';
import type { Queryable } from './statement.js';

const CONNECT_TIMEOUT_MS = 5000;
/** Longer than the server's own timeout, for a server that stands still. */
const STANDSTILL_MS = 2000;

/**
 * A statement over whole tables wants the plans that the pool's sessions rule out, and memory to sort in; and it leaves the other
 * cores to the service. How many rows its parts have is not known beforehand, so parts are hashed: none is read anew for
 * each row of another, or sorted, but where a statement says so itself.
 */
const SESSION = [
  'work_mem=64MB',
  'jit=off',
  'max_parallel_workers_per_gather=0',
  'enable_nestloop=off',
  'enable_sort=off',
  'TimeZone=UTC',
]
  .map((setting) => `-c ${setting}`)
  .join(' ');

/** The SQLSTATE of a statement that its timeout has ended. */
const CANCELLED = '57014';

/** Whether a read failed only because it took too long. */
export function isOutOfTime(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === CANCELLED;
}

/**
 * Runs reads over one unchanging view of the database, each for at most so long. On a connection of its own: a long read must
 * not take one from the commands. While it lasts, nothing that was overwritten since can be cleared away, so keep it short.
 */
export async function inSnapshot<T>(
  databaseUrl: string,
  timeoutMs: number,
  work: (db: Queryable) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs + STANDSTILL_MS,
    application_name: 'fuseboard-check',
    options: SESSION,
  });
  // A lost connection fails the query that is under way; without a listener it would also end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return await work(client);
  } finally {
    // Ending the connection ends the snapshot.
    await client.end();
  }
}
