import { isIPv6 } from 'node:net';
import { relative } from 'node:path';
import closeWithGrace from 'close-with-grace';
import { buildApp } from './app.js';
import { bootstrap } from './bootstrap.js';
import { type Config, ConfigError, loadConfig } from './config.js';
import { openEmbedded } from './db/embedded.js';
import { EmbeddedError } from './db/embedded-error.js';
import { MigrationError, migrate } from './db/migrate.js';
import { createPool } from './db/pool.js';
import { createPrisma } from './db/prisma.js';
import { isAwake } from './db/transaction.js';
import { createDeps, type Deps } from './deps.js';
import type { Readiness } from './http/health.js';
import { createLog, type Log } from './http/index.js';
import { databaseClock } from './kernel/clock.js';
import { newId } from './kernel/ids.js';
import { KeysFile } from './keys-file.js';

const TIDY_EVERY_MS = 60_000;

/** What has been opened so far, to be closed in the opposite order. */
class Opened {
  private readonly closers: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.closers.push(close);
  }

  async close(): Promise<void> {
    for (let close = this.closers.pop(); close !== undefined; close = this.closers.pop()) await close();
  }
}

/** Says something to the person at the terminal; the log is for machines. */
function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Why the start cannot go on, when that is no fault of the code: in words, without a stack. */
function plainReason(error: unknown): string | null {
  if (error instanceof ConfigError || error instanceof EmbeddedError || error instanceof MigrationError)
    return error.message;
  if (!(error instanceof Error) || !('code' in error)) return null;
  switch (error.code) {
    case 'EADDRINUSE':
      return 'The port is in use: stop what listens there, or set PORT to another one (0 takes any free port).';
    case 'EACCES':
      return `Not allowed: ${error.message}. Set PORT to 1024 or higher, or FUSEBOARD_DATA_DIR to a folder of yours.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `HOST or DATABASE_URL names a machine that is not there: ${error.message}.`;
    case 'ECONNREFUSED':
      return 'The database does not answer: is it running, and is DATABASE_URL right?';
    case '28P01':
    case '28000':
    case '3D000':
      return `The database refuses DATABASE_URL: ${error.message}.`;
    default:
      return null;
  }
}

function clientUrl(config: Config, port: number): string {
  const everywhere = config.host === '0.0.0.0' || config.host === '::';
  const host = everywhere ? '127.0.0.1' : config.host;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

async function openDatabase(config: Config, log: Log, opened: Opened): Promise<string> {
  if (config.databaseUrl !== undefined) return config.databaseUrl;
  const embedded = await openEmbedded({ dataDir: config.dataDir, log: log.logger });
  opened.add(() => embedded.stop());
  return embedded.url;
}

async function openDeps(config: Config, log: Log, databaseUrl: string, opened: Opened): Promise<Deps> {
  await migrate(databaseUrl, { log: log.logger });
  const { poolSize, statementTimeoutMs } = config;
  const pool = createPool({ databaseUrl, poolSize, statementTimeoutMs }, log.logger);
  opened.add(() => pool.end());
  return createDeps({
    config,
    log,
    databaseUrl,
    pool,
    prisma: createPrisma(pool),
    clock: databaseClock,
    newId,
  });
}

async function start(config: Config, log: Log, opened: Opened): Promise<void> {
  const databaseUrl = await openDatabase(config, log, opened);
  const deps = await openDeps(config, log, databaseUrl, opened);
  let starting = true;
  const ready = async (): Promise<Readiness> => {
    if (starting) return { ok: false, reasons: ['the server is starting'] };
    const ok = await isAwake(deps.pool);
    return { ok, reasons: ok ? [] : ['the database cannot be reached'] };
  };
  const app = await buildApp(deps, ready);
  opened.add(() => app.close());
  const keys = new KeysFile(config.dataDir);
  const isKnownKey = (key: string): Promise<boolean> => deps.agents.isKnownKey(key);
  await bootstrap({ ...deps.administration, databaseUrl, log: log.logger, isKnownKey }, keys);
  opened.add(() => deps.notifier.stop());
  await deps.notifier.start();
  deps.tasks.start();
  opened.add(tidyNowAndThen(deps));
  await app.listen({ port: config.port, host: config.host });
  const address = app.server.address();
  const url = clientUrl(config, typeof address === 'object' && address !== null ? address.port : config.port);
  await keys.putUrl(url);
  starting = false;
  log.logger.info({ url }, 'ready');
  greet(url, shortened(keys.path));
}

/** Sees to what only grows; answers how to stop it. */
function tidyNowAndThen({ projects, log }: Deps): () => void {
  const timer = setInterval(() => {
    projects
      .tidy()
      .catch((error: unknown) =>
        log.logger.warn({ err: error }, 'old answers could not be forgotten; trying again'),
      );
  }, TIDY_EVERY_MS);
  return () => clearInterval(timer);
}

/** As one would type it from here. */
function shortened(path: string): string {
  const here = relative(process.cwd(), path);
  return here.startsWith('..') ? path : `./${here}`;
}

function greet(url: string, keysPath: string): void {
  say(`
Fuseboard is ready at ${url}
  Swagger UI   ${url}/docs
  Keys         ${keysPath}

Try it:
  . ${keysPath}
  curl -s "$FUSEBOARD_URL/v1/me" -H "Authorization: Bearer $FUSEBOARD_PLANNER_KEY"
`);
}

async function main(): Promise<void> {
  const opened = new Opened();
  try {
    const config = loadConfig(process.env);
    const log = createLog(config.logLevel);
    opened.add(() => log.close());
    closeWithGrace(
      { delay: config.shutdownSeconds * 1000, logger: { error: (fault: unknown) => logEnd(log, fault) } },
      async ({ err, signal }) => {
        if (err !== undefined) log.logger.fatal({ err }, 'an error that nobody caught: stopping');
        else log.logger.info({ signal }, 'stopping');
        await opened.close();
      },
    );
    await start(config, log, opened);
  } catch (error) {
    const reason = plainReason(error);
    say(
      reason ??
        `Fuseboard cannot start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    await opened.close();
    process.exit(1);
  }
}

function logEnd(log: Log, fault: unknown): void {
  if (fault instanceof Error) log.logger.error({ err: fault }, 'stopping failed');
  else log.logger.error({ fault: String(fault) }, 'stopping at once');
  log.close();
}

await main();
