import type pg from 'pg';
import { createTestDatabase } from '../../support/database.js';
import { makeFolder } from '../../support/server.js';
import { Service } from '../faults/service.js';
import { Connection } from './connection.js';

/** What no history is about is out of reach. */
export const SETTINGS = {
  FUSEBOARD_RATE_LIMIT_PER_MINUTE: '1000000000',
  FUSEBOARD_CREATE_LIMIT_PER_MINUTE: '1000000000',
  FUSEBOARD_MAX_ITERATIONS: '1000000000',
  FUSEBOARD_FLEET_THRESHOLD: '1000000000',
  FUSEBOARD_ERROR_RECOVERY: 'manual',
} as const;

/** Several complete services over one database. */
export interface Services {
  readonly urls: readonly string[];
  /** The key of the default project's operator. */
  readonly operatorKey: string;
  /** By how much the database's clock is ahead of this process's steady one, or a little more. */
  readonly aheadMs: number;
  /** Connections to their database. */
  readonly pool: pg.Pool;
  stop(): Promise<void>;
}

/** Starts the service as so many processes of their own, on a new database. */
export async function startServices(count: number): Promise<Services> {
  const database = await createTestDatabase();
  const folders = await Promise.all(Array.from({ length: count }, makeFolder));
  const env = { ...SETTINGS, DATABASE_URL: database.url };
  const services: Service[] = [];
  // One after another: the first start may build the service, which nothing else can happen beside.
  for (const { path } of folders) services.push(await Service.start({ folder: path, env }));
  return {
    urls: services.map(({ url }) => url),
    operatorKey: services[0]?.key('operator') ?? '',
    aheadMs: await clockAhead(database.pool),
    pool: database.pool,
    async stop() {
      await Promise.all(services.map((service) => service.stop()));
      await database.drop();
      await Promise.all(folders.map((folder) => folder.remove()));
    },
  };
}

const LOOKS = 10;

/** Compares the clocks: the database's time is not older than the asking for it. The quickest answer tells it best. */
export async function clockAhead(pool: pg.Pool): Promise<number> {
  const looks: { readonly tookMs: number; readonly aheadMs: number }[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    const asked = performance.now();
    const { rows } = await pool.query<{ now: string }>(
      'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now',
    );
    looks.push({ tookMs: performance.now() - asked, aheadMs: Number(rows[0]?.now) - asked });
  }
  return looks.reduce((best, look) => (look.tookMs < best.tookMs ? look : best)).aheadMs;
}

/** A connection to each of them. */
export function connect({ urls }: Services): [Connection, ...Connection[]] {
  const [first, ...others] = urls.map((url) => new Connection(url));
  if (first === undefined) throw new Error('no service was started');
  return [first, ...others];
}
