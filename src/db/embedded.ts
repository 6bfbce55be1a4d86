import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { findBinaries, findServerUser } from './embedded-binaries.js';
import { type Cluster, openCluster } from './embedded-cluster.js';
import { EmbeddedError } from './embedded-error.js';
import {
  boundLog,
  isServerOf,
  readPidFile,
  type ServerPlan,
  socketFolder,
  startServer,
  stopServer,
} from './embedded-server.js';
import type { DatabaseLog } from './log.js';

const DATABASE = 'fuseboard';
/** Any number, the same in every version: whoever holds this lock is the folder's one service. */
const OWNER_LOCK = '5209742817603461';
const OPEN_TIMEOUT_MS = 60_000;
const OWNER_PATIENCE_MS = 2000;
const RETRY_MS = 20;
const RECOVERY_PAUSE_MS = 1000;
const LOG_LOOK_MS = 60_000;

/** How to open the embedded database. */
export interface EmbeddedOptions {
  readonly dataDir: string;
  readonly log: DatabaseLog;
  /** Server settings over the usual ones; the tests trade safety for speed with it. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A running embedded database. */
export interface Embedded {
  readonly url: string;
  /** The server's process at this moment; it changes when the server had to be started again. */
  pid(): number;
  stop(): Promise<void>;
}

interface Held {
  readonly pid: number;
  readonly port: number;
  readonly owner: pg.Client;
}

/**
 * Opens the PostgreSQL in `<dataDir>/postgres`: makes it if it is not there, takes over a server that an
 * earlier process left running, starts it otherwise, and again whenever it dies. A session of the server
 * itself is the lock that keeps a second service out: it ends with the process that holds it, however that
 * dies, and knows nothing of process numbers.
 */
export async function openEmbedded({ dataDir, log, settings = {} }: EmbeddedOptions): Promise<Embedded> {
  const binaries = await findBinaries();
  const cluster = await openCluster(dataDir, binaries, await findServerUser());
  const plan = { binaries, cluster, settings, logFile: join(cluster.folder, '..', 'postgres.log') };
  await boundLog(plan.logFile);

  let held = await hold(plan, log);
  const { port } = held;
  let stopping = false;
  let recovery = Promise.resolve();

  function watch(): void {
    held.owner.on('end', () => {
      if (!stopping) recovery = recover();
    });
  }

  async function recover(): Promise<void> {
    log.warn({ pid: held.pid }, 'the embedded database was lost; starting it again');
    while (!stopping) {
      try {
        held = await hold({ ...plan, port }, log);
        watch();
        log.info({ pid: held.pid }, 'the embedded database is back');
        return;
      } catch (error) {
        log.error({ err: error }, 'the embedded database does not come back; trying again');
        await pause(RECOVERY_PAUSE_MS);
      }
    }
  }

  watch();
  await createDatabase(held.owner);
  const look = setInterval(() => {
    boundLog(plan.logFile).catch((error) => log.warn({ err: error }, 'the database log cannot be cut'));
  }, LOG_LOOK_MS).unref();

  return {
    url: `postgres://${cluster.user}:${cluster.password}@127.0.0.1:${port}/${DATABASE}`,
    pid: () => held.pid,
    async stop() {
      if (stopping) return recovery;
      stopping = true;
      clearInterval(look);
      recovery = recovery.then(async () => {
        await held.owner.end();
        await stopServer(held.pid, cluster.folder);
      });
      return recovery;
    },
  };
}

/** Finds or starts the server and takes its lock. */
async function hold(plan: ServerPlan, log: DatabaseLog): Promise<Held> {
  const { cluster } = plan;
  for (
    const deadline = performance.now() + OPEN_TIMEOUT_MS;
    performance.now() < deadline;
    await pause(RETRY_MS)
  ) {
    const file = await readPidFile(cluster.folder);
    const runs = file !== null && (await isServerOf(file.pid, cluster.folder));
    if (file !== null && !runs) await refuseForeign(cluster, file.port);
    const server = runs ? file : await startServer(plan);
    if (server === null || !server.ready) continue;
    if (plan.port !== undefined && server.port !== plan.port) {
      throw new EmbeddedError(
        `The database is on port ${server.port} now, not on ${plan.port}: restart Fuseboard.`,
      );
    }
    const owner = await connect(cluster, '127.0.0.1', server.port);
    if (owner === null) continue;
    await takeLock(owner, cluster);
    if (runs) log.info({ pid: server.pid }, 'took over the embedded database that was still running');
    return { pid: server.pid, port: server.port, owner };
  }
  throw new EmbeddedError(
    `The database in ${cluster.folder} neither starts nor stops: look into ${plan.logFile}, end its processes, ` +
      'and start Fuseboard again.',
  );
}

/** Connects, or gives null while the server is starting or shutting down. */
async function connect(cluster: Cluster, host: string, port: number): Promise<pg.Client | null> {
  const client = new pg.Client({
    host,
    port,
    user: cluster.user,
    password: cluster.password,
    database: 'postgres',
    application_name: `fuseboard process ${process.pid}`,
    connectionTimeoutMillis: 5000,
  });
  // The loss of the connection is told by 'end'; without this listener it would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === '28P01') {
      throw new EmbeddedError(
        `The password in ${cluster.folder} is not the one of the server that runs there: move the folder away ` +
          'to begin anew, or restore it whole.',
        { cause: error },
      );
    }
    return null;
  }
}

/** A socket in the folder that answers, of a process that is not to be seen here, is another container's. */
async function refuseForeign(cluster: Cluster, port: number): Promise<void> {
  const socket = socketFolder(cluster.folder);
  const client = socket === null ? null : await connect(cluster, socket, port);
  if (client === null) return;
  await client.end();
  throw new EmbeddedError(
    `The data folder of ${cluster.folder} is in use by another container: stop that one, give this one a folder ` +
      'of its own by FUSEBOARD_DATA_DIR, or let both use one PostgreSQL by DATABASE_URL.',
  );
}

async function takeLock(owner: pg.Client, cluster: Cluster): Promise<void> {
  // A process that was killed a moment ago may still have its session.
  for (
    const deadline = performance.now() + OWNER_PATIENCE_MS;
    performance.now() < deadline;
    await pause(RETRY_MS)
  ) {
    const { rows } = await owner.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      OWNER_LOCK,
    ]);
    if (rows[0]?.taken) return;
  }
  const { rows } = await owner.query<{ name: string }>(
    `SELECT application_name AS name FROM pg_stat_activity
      WHERE application_name LIKE 'fuseboard process %' AND pid <> pg_backend_pid()
      ORDER BY backend_start LIMIT 1`,
  );
  await owner.end();
  throw new EmbeddedError(
    `Another Fuseboard (${rows[0]?.name.replace('fuseboard ', '') ?? 'process unknown'}) uses the data folder of ` +
      `${cluster.folder}: stop it, give this one a folder of its own by FUSEBOARD_DATA_DIR, or let both use one ` +
      'PostgreSQL by DATABASE_URL.',
  );
}

async function createDatabase(owner: pg.Client): Promise<void> {
  const { rowCount } = await owner.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
  if (rowCount === 0) await owner.query(`CREATE DATABASE ${DATABASE}`);
}
