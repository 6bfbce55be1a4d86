import type pg from 'pg';
import { buildApp } from '../../../src/app.js';
import { createDefaultProject } from '../../../src/bootstrap.js';
import { loadConfig } from '../../../src/config.js';
import { createPool } from '../../../src/db/pool.js';
import { createPrisma } from '../../../src/db/prisma.js';
import { createDeps, type Deps } from '../../../src/deps.js';
import { createLog } from '../../../src/http/index.js';
import { databaseClock } from '../../../src/kernel/clock.js';
import { newId } from '../../../src/kernel/ids.js';
import { createTestDatabase } from '../../support/database.js';
import { clockAhead, SETTINGS, type Services } from './service.js';
import { type Tampering, tampered } from './tamper.js';

/** The database goes while its connections are still closing: nothing to tell of. */
const NO_LOG = { info() {}, warn() {}, error() {} };
const POOL = { poolSize: 8, statementTimeoutMs: 15_000 };

/** A fault that is planted around a service: into its database, or on the way there. */
export interface Plant extends Tampering {
  /** SQL for the database before anything uses it. */
  readonly sql?: string;
  /** How many of those who claim fall silent. */
  readonly silent?: number;
  /** Whether what works beside the services ends the leases that ran out, in their stead. */
  readonly sweeps?: true;
  /** Works on the database beside the services; answers how to stop it. */
  readonly beside?: (open: (how: Tampering) => PlantedService, pool: pg.Pool) => () => Promise<void>;
}

/** One complete service in this process: connections, lanes and memory of its own. */
export interface PlantedService extends Deps {
  close(): Promise<void>;
}

/** Starts complete services in this process, on one new database, with a fault planted into them. */
export async function startPlanted(count: number, plant: Plant): Promise<Services> {
  const database = await createTestDatabase();
  if (plant.sql !== undefined) await database.pool.query(plant.sql);
  const { pool } = database;
  const keys = await createDefaultProject({ pool, clock: databaseClock, newId, onCommit: () => undefined });
  const closing: (() => Promise<unknown>)[] = [];
  const urls: string[] = [];
  for (let made = 0; made < count; made += 1) {
    const service = openService(database.url, plant);
    const app = await buildApp(service, () => ({ ok: true, reasons: [] }));
    closing.push(() => app.close().then(service.close));
    urls.push(await app.listen({ port: 0, host: '127.0.0.1' }));
    if (plant.sweeps !== true) service.tasks.start();
  }
  if (plant.beside !== undefined)
    closing.unshift(plant.beside((how) => openService(database.url, how), pool));
  return {
    urls,
    operatorKey: keys?.get('operator') ?? '',
    aheadMs: await clockAhead(pool),
    pool,
    async stop() {
      for (const close of closing) await close();
      await database.drop();
    },
  };
}

/** A service that does not listen. Commands are not batched, so that a fault meets the one command it is meant for. */
function openService(databaseUrl: string, tampering: Tampering): PlantedService {
  const pool = createPool({ databaseUrl, ...POOL }, NO_LOG);
  const config = loadConfig({
    ...SETTINGS,
    FUSEBOARD_BATCH_MAX: '1',
    DATABASE_URL: databaseUrl,
    LOG_LEVEL: 'fatal',
  });
  const log = createLog(config.logLevel, { write: () => undefined });
  const between = tampered(pool, tampering);
  const deps = createDeps({
    config,
    log,
    databaseUrl,
    pool: between,
    prisma: createPrisma(pool),
    clock: databaseClock,
    newId,
  });
  return { ...deps, close: () => pool.end() };
}
