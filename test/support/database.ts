import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import type { DatabaseLog } from '../../src/db/log.js';
import { createPool } from '../../src/db/pool.js';
import { urlOf } from './database-url.js';
import { quietLog } from './server.js';

const OBJECT_IN_USE = '55006';
const POOL_SIZE = 16;
const STATEMENT_TIMEOUT_MS = 15_000;

/** A migrated database of its own for one test file. */
export interface TestDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  /** Ends the pool and removes the database, whoever is still connected to it. */
  drop(): Promise<void>;
}

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('serverUrl') });
  await client.connect();
  try {
    for (;;) {
      try {
        await client.query(statement);
        return;
      } catch (error) {
        // One clone at a time may read the template; the next one takes its turn.
        if (!(error instanceof pg.DatabaseError && error.code === OBJECT_IN_USE)) throw error;
      }
    }
  } finally {
    await client.end();
  }
}

/** Makes a database, as a copy of the migrated template, or empty. */
export async function createTestDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${empty ? 'template0' : inject('templateDatabase')}`);
  const url = urlOf(inject('serverUrl'), name);
  let dropped = false;
  // Its connections may still be closing when the database goes: nothing to tell of.
  const log = {
    ...quietLog,
    warn: (...said: Parameters<DatabaseLog['warn']>) => dropped || quietLog.warn(...said),
  };
  const pool = createPool(
    { databaseUrl: url, poolSize: POOL_SIZE, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
    log,
  );
  return {
    url,
    pool,
    async drop() {
      dropped = true;
      await pool.end();
      await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}
