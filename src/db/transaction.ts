import pg from 'pg';
import type { Result } from '../kernel/refusal.js';
import { isDatabaseUnavailable } from './faults.js';
import { discard, type Pool, type Queryable } from './statement.js';

/**
 * Runs `work` in one transaction: committed when it succeeds, rolled back when it refuses or throws. Where the connection is
 * lost at the commit, `isCommitted` is asked whether it was made.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (tx: Queryable) => Promise<Result<T>>,
  isCommitted: () => Promise<boolean> = () => Promise.resolve(false),
): Promise<Result<T>> {
  const client = await pool.connect();
  let result: Result<T> | null = null;
  try {
    await client.query('BEGIN');
    result = await work(client);
    await client.query(result.ok ? 'COMMIT' : 'ROLLBACK');
    client.release();
    return result;
  } catch (error) {
    // Whatever state the connection is in, ending it rolls the transaction back.
    discard(client, error);
    if (result === null || !isDatabaseUnavailable(error)) throw error;
    // What was refused changes nothing, whether the end of its transaction is heard of or not.
    if (!result.ok || (await isCommitted())) return result;
    throw error;
  }
}

/**
 * Runs `work` while no other process holds the lock of that number. A connection of its own holds it, so that it is given
 * back however this process ends, and `work` may use the whole pool.
 */
export async function withLock<T>(databaseUrl: string, lock: string, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5000,
    application_name: 'fuseboard-lock',
  });
  // A lost connection fails the next query on it; without a listener it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [lock]);
    return await work();
  } finally {
    await client.end();
  }
}

/** Whether the database answers now. */
export async function isAwake(db: Queryable): Promise<boolean> {
  try {
    await db.query('SELECT 1');
    return true;
  } catch {
    return false;
  }
}
