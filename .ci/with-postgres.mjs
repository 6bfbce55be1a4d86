// Runs a command against a throw-away PostgreSQL: node with-postgres.mjs FOLDER_OF_ITS_PROGRAMS COMMAND...
// The command finds the server in FUSEBOARD_TEST_DATABASE_URL.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const START_MS = 30_000;
const LOOK_MS = 20;

const [programs, command, ...args] = process.argv.slice(2);
const idOf = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
// PostgreSQL refuses to run as root.
const user = process.getuid() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};

const folder = mkdtempSync(join(tmpdir(), 'fuseboard-postgres-'));
if ('uid' in user) chownSync(folder, user.uid, user.gid);

const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
probe.close();
await once(probe, 'close');

execFileSync(
  join(programs, 'initdb'),
  ['-D', folder, '-U', 'fuseboard', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
  { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
);
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 300,
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  log_min_messages: 'fatal',
};
const server = spawn(
  join(programs, 'postgres'),
  [
    '-D',
    folder,
    '-p',
    port,
    ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
  ],
  { ...user, cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] },
);
const ended = once(server, 'exit');

function isReady() {
  const file = join(folder, 'postmaster.pid');
  return existsSync(file) && readFileSync(file, 'utf8').split('\n')[7]?.trim() === 'ready';
}

try {
  for (const begin = performance.now(); !isReady(); await pause(LOOK_MS)) {
    if (server.exitCode !== null || performance.now() - begin > START_MS)
      throw new Error('PostgreSQL did not start');
  }
  const child = spawn(command, args, {
    stdio: 'inherit',
    env: { ...process.env, FUSEBOARD_TEST_DATABASE_URL: `postgres://fuseboard@127.0.0.1:${port}/postgres` },
  });
  [process.exitCode] = await once(child, 'exit');
} finally {
  server.kill('SIGINT');
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
