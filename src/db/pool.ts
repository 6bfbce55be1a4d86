import pg from 'pg';
import { GatheringSocket } from './gathering-socket.js';
import type { DatabaseLog } from './log.js';

/** What a pool needs to know. */
export interface PoolSettings {
  readonly databaseUrl: string;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
}

const INT8 = 20;
const TIMESTAMPTZ = 1184;
const TEXT_ARRAY: number = 1009;
const UUID_ARRAY = 2951;
const CONNECT_TIMEOUT_MS = 5000;
const STANDSTILL_MS = 2_000;
/** No transaction waits for anything but its own statements: where the next does not come, it must not hold its project. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
/** The driver's words for an answer that does not come. */
const STANDSTILL = 'Query read timeout';

/**
 * A statement is planned once a connection, often while its tables are small, and keeps that plan when they have grown. So the
 * plans that are good only for small tables are ruled out: every statement of the service goes along an index.
 */
const SESSION = [
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
  'plan_cache_mode=force_generic_plan',
  'TimeZone=UTC',
]
  .map((setting) => `-c ${setting}`)
  .join(' ');

function parseInt8(text: string): number {
  const value = Number(text);
  // A rounded count or position would be wrong without anyone noticing.
  if (!Number.isSafeInteger(value))
    throw new RangeError(`the bigint ${text} does not fit a JavaScript number`);
  return value;
}

/** The driver's own parser takes several microseconds a time; sessions are in UTC, so that the text is nearly ISO already. */
function parseTime(text: string): Date {
  const iso = text.endsWith('+00') ? `${text.slice(0, 10)}T${text.slice(11, -3)}Z` : text;
  return new Date(iso);
}

const parseTexts = pg.types.getTypeParser(TEXT_ARRAY, 'text');

const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [INT8, parseInt8],
  [TIMESTAMPTZ, parseTime],
  [TEXT_ARRAY, (text) => (text === '{}' ? [] : parseTexts(text))],
  [UUID_ARRAY, (text) => (text === '{}' ? [] : text.slice(1, -1).split(','))],
]);

const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    const own = format === 'binary' ? undefined : PARSERS.get(oid);
    return own ?? pg.types.getTypeParser(oid, format);
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
    // The server's own timeout does not help where the server itself stands still.
    query_timeout: settings.statementTimeoutMs + STANDSTILL_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    application_name: 'fuseboard',
    options: SESSION,
    keepAlive: true,
    stream: () => new GatheringSocket(),
    types,
  });
  // Without a listener, an idle connection that the server closes would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
  // So would one that is lost while it is lent out, where the server has no time to say why; its queries fail all the same.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('release', (error: unknown) => {
    if (error instanceof Error && error.message === STANDSTILL) endIdle(pool);
  });
  return pool;
}

/** Where the way to the database is lost, idle connections are as dead as the one that was asked: each would be waited for in turn. */
function endIdle(pool: pg.Pool): void {
  for (let left = pool.idleCount; left > 0; left -= 1) {
    pool.connect().then(
      (client) => client.release(true),
      () => undefined,
    );
  }
}
