/** Error codes of the network under the driver. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Prisma's codes for a server that is not reached, went away, or gives no connection in time. */
const PRISMA_CODES = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028']);

/**
 * SQLSTATEs outside the classes below: statement cancelled by its timeout, lock not available in time, session ended by
 * an idle timeout, and a server that takes no writes because it is no longer the primary.
 */
const SQL_STATES = new Set(['57014', '55P03', '25P03', '25P04', '25006']);

/**
 * Connection faults, exhausted resources, a server that is being shut down or starts, and one that no longer lets us in: its
 * password, or the name of the database, has changed.
 */
const SQL_STATE_CLASSES = /^(08|28|3D|53|57P)/;

/** The drivers raise these as bare errors without a code; a closed database has one that says nothing. */
const MESSAGES =
  /not currently accepting connections|Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|server closed the connection|Can't reach database server|Cannot use a pool after calling end|Client was closed and is not queryable|Connection is closed|Socket closed unexpectedly/i;

const SQL_STATE = /^[0-9A-Z]{5}$/;

/** How far a chain of causes is followed. */
const MAX_LINKS = 20;

/**
 * Whether an error says that the database cannot be asked now, as against a statement that is wrong. Looks through the
 * wrappings of both drivers: `cause`, and the parts of an AggregateError.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  const queue: unknown[] = [error];
  for (let looked = 0; looked < MAX_LINKS; looked += 1) {
    const link = queue.shift();
    if (link === undefined) return false;
    if (typeof link !== 'object' || link === null) continue;
    if (saysUnavailable(link)) return true;
    if ('cause' in link && link.cause !== undefined) queue.push(link.cause);
    if ('errors' in link && Array.isArray(link.errors)) queue.push(...link.errors.slice(0, MAX_LINKS));
  }
  return false;
}

function saysUnavailable(link: object): boolean {
  for (const key of ['code', 'errorCode', 'originalCode'] as const) {
    const code: unknown = Reflect.get(link, key);
    if (typeof code === 'string' && isUnavailableCode(code)) return true;
  }
  const message: unknown = Reflect.get(link, 'message');
  return typeof message === 'string' && MESSAGES.test(message);
}

function isUnavailableCode(code: string): boolean {
  if (PRISMA_CODES.has(code) || NETWORK_CODES.has(code)) return true;
  return SQL_STATE.test(code) && (SQL_STATES.has(code) || SQL_STATE_CLASSES.test(code));
}
