import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Embedded, openEmbedded } from '../../src/db/embedded.js';
import { readPidFile, stopServer } from '../../src/db/embedded-server.js';
import { makeFolder, quietLog } from '../support/server.js';

const HOLDER = fileURLToPath(new URL('../support/hold-database.ts', import.meta.url));

let folder: Awaited<ReturnType<typeof makeFolder>>;
let opened: Embedded[];

beforeEach(async () => {
  folder = await makeFolder();
  opened = [];
});

afterEach(async () => {
  for (const embedded of opened) await embedded.stop();
  // Only a test that failed half-way leaves a server.
  const left = await readPidFile(join(folder.path, 'postgres'));
  if (left !== null) await stopServer(left.pid, join(folder.path, 'postgres'));
  await folder.remove();
});

async function open(log = quietLog): Promise<Embedded> {
  const embedded = await openEmbedded({ dataDir: folder.path, log });
  opened.push(embedded);
  return embedded;
}

async function ask(embedded: Embedded, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: embedded.url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Another process that has the database open, and the process of its server. */
async function holdElsewhere(): Promise<{ holder: ChildProcess; server: number }> {
  const holder = fork(HOLDER, [folder.path], { execArgv: ['--import', 'tsx'] });
  const [message] = await once(holder, 'message');
  return { holder, server: message.pid };
}

async function kill(holder: ChildProcess): Promise<void> {
  const gone = once(holder, 'exit');
  holder.kill('SIGKILL');
  await gone;
}

const pidFile = () => join(folder.path, 'postgres', 'postmaster.pid');

describe('the data', () => {
  test('survive a restart', async () => {
    const first = await open();
    await ask(first, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();
    expect(await ask(await open(), 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
  });

  test('are kept by the safe settings of PostgreSQL', async () => {
    const settings = ['fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums'];
    const rows = await ask(
      await open(),
      `SELECT name FROM pg_settings WHERE setting = 'on' AND name IN ('${settings.join("', '")}')`,
    );
    expect(rows).toHaveLength(settings.length);
  });
});

describe('a stranger', () => {
  test('finds no port but on this machine, and needs the password', async () => {
    const embedded = await open();
    expect(await ask(embedded, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    const url = new URL(embedded.url);
    url.password = 'guess';
    const client = new pg.Client({ connectionString: url.href });
    await expect(client.connect()).rejects.toThrow('password authentication failed');
  });

  test('cannot read the password, and the log does not have it', async () => {
    const { password } = new URL((await open()).url);
    const { mode } = await stat(join(folder.path, 'postgres', 'fuseboard.password'));
    expect(mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder.path, 'postgres.log'), 'utf8')).not.toContain(password);
  });
});

describe('a second service on the folder', () => {
  test('is refused, and told what to do', async () => {
    const first = await open();
    await expect(open()).rejects.toThrow(
      new RegExp(`Another Fuseboard \\(process ${process.pid}\\).*FUSEBOARD_DATA_DIR.*DATABASE_URL`),
    );
    expect(await ask(first, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  test('that starts in the same moment on a new folder is refused, and leaves nothing behind', async () => {
    const answers = await Promise.allSettled([open(), open()]);
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await readdir(folder.path)).sort()).toEqual(['postgres', 'postgres.log']);
    // The service itself gives up after a minute; two first starts at once on a busy machine take their time.
  }, 70_000);
});

describe('after kill -9', () => {
  test('of the service, the next one takes its server over', async () => {
    const { holder, server } = await holdElsewhere();
    await kill(holder);
    expect((await open()).pid()).toBe(server);
  });

  test('of the service and of the server, the next one recovers', async () => {
    const { holder, server } = await holdElsewhere();
    await kill(holder);
    process.kill(server, 'SIGKILL');
    expect(await ask(await open(), 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  test('a pid file that names a process of somebody else by now does no harm', async () => {
    const { holder, server } = await holdElsewhere();
    await kill(holder);
    process.kill(server, 'SIGKILL');
    const lines = (await readFile(pidFile(), 'utf8')).split('\n');
    await writeFile(pidFile(), ['1', ...lines.slice(1)].join('\n'));
    expect(await ask(await open(), 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  test('of the server alone, it comes back at the same address with what was committed', async () => {
    let isBack = () => {};
    const back = new Promise<void>((resolve) => {
      isBack = resolve;
    });
    const embedded = await open({
      ...quietLog,
      warn() {},
      info: (_details, message) => message.endsWith('is back') && isBack(),
    });
    await ask(embedded, 'CREATE TABLE kept AS SELECT 1 AS n');
    const before = embedded.pid();
    process.kill(before, 'SIGKILL');
    await back;
    expect(embedded.pid()).not.toBe(before);
    expect(await ask(embedded, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
  });
});

test('stop ends the server, however often it is called', async () => {
  const embedded = await open();
  await Promise.all([embedded.stop(), embedded.stop()]);
  await expect(ask(embedded, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(await readdir(join(folder.path, 'postgres'))).not.toContain('postmaster.pid');
});
