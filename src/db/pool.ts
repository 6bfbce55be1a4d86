import pg from 'pg';
import type { DatabaseLog } from './log.js';

/** What a pool needs to know. */
export interface PoolSettings {
  readonly databaseUrl: string;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
}

const INT8 = 20;
const CONNECT_TIMEOUT_MS = 5000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;

function parseInt8(text: string): number {
  const value = Number(text);
  // A rounded count or position would be wrong without anyone noticing.
  if (!Number.isSafeInteger(value))
    throw new RangeError(`the bigint ${text} does not fit a JavaScript number`);
  return value;
}

const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return oid === INT8 && format !== 'binary' ? parseInt8 : pg.types.getTypeParser(oid, format);
  },
};

/**
 * The one pool of a process, shared by the hot paths and by Prisma. Queries that one client is given at once
 * go over the wire together. A timestamp arrives as a Date, which holds milliseconds: columns are timestamptz(3).
 */
export function createPool(settings: PoolSettings, log: DatabaseLog): pg.Pool {
  const pool = new pg.Pool({
    connectionString: settings.databaseUrl,
    max: settings.poolSize,
    pipeline: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: settings.statementTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    application_name: 'fuseboard',
    keepAlive: true,
    types,
  });
  // Without a listener, an idle connection that the server closes would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
  return pool;
}
