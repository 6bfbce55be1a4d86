import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { createTestDatabase } from '../../support/database.js';
import { makeFolder } from '../../support/server.js';
import { Connection } from './connection.js';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const READY = /Fuseboard is ready at (\S+)/;

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
  stop(): Promise<void>;
}

/** Starts the service as so many processes of their own, on a new database. */
export async function startServices(count: number): Promise<Services> {
  const database = await createTestDatabase();
  const folder = await makeFolder();
  const children: ChildProcess[] = [];
  // However the tests end, the services end with them.
  const killAll = (): void => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', killAll);
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(end));
    process.off('exit', killAll);
    await database.drop();
    await folder.remove();
  };
  try {
    const starts = Array.from({ length: count }, (_, n) => {
      const dataDir = join(folder.path, String(n));
      const child = fork(MAIN, [], {
        execArgv: ['--import', 'tsx'],
        env: {
          ...process.env,
          ...SETTINGS,
          PORT: '0',
          LOG_LEVEL: 'error',
          DATABASE_URL: database.url,
          FUSEBOARD_DATA_DIR: dataDir,
        },
        stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      });
      children.push(child);
      return { dataDir, ready: untilReady(child) };
    });
    const urls = await Promise.all(starts.map(({ ready }) => ready));
    const keys = await readFile(join(starts[0]?.dataDir ?? '', 'keys.env'), 'utf8');
    const operatorKey = /^FUSEBOARD_OPERATOR_KEY=(.*)$/m.exec(keys)?.[1] ?? '';
    return { urls, operatorKey, aheadMs: await clockAhead(database.pool), stop };
  } catch (error) {
    await stop();
    throw error;
  }
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

/** Where it listens, as it says to whoever starts it. */
function untilReady(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const url = READY.exec(said)?.[1];
      if (url !== undefined) resolve(url);
    });
    child.once('exit', (code) =>
      reject(new Error(`a service ended with ${code} before it was ready:\n${said}`)),
    );
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

/** A connection to each of them. */
export function connect({ urls }: Services): [Connection, ...Connection[]] {
  const [first, ...others] = urls.map((url) => new Connection(url));
  if (first === undefined) throw new Error('no service was started');
  return [first, ...others];
}
