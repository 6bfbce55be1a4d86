import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { copyFile, open, readdir, readFile, readlink, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Binaries } from './embedded-binaries.js';
import { type Cluster, serverEnvironment } from './embedded-cluster.js';
import { EmbeddedError } from './embedded-error.js';

const POLL_MS = 5;
const START_TIMEOUT_MS = 120_000;
const FAST_STOP_MS = 8000;
const LOG_BYTES = 4 * 1024 * 1024;
/** The longest path that a Unix socket can have on Linux and macOS. */
const SOCKET_PATH_BYTES = 103;
/** Another server was quicker, or the last one has not quite gone: worth another look, not an error. */
const CONTENTION = /lock file "[^"]+" already exists|shared memory block|Address already in use/;

/** What PostgreSQL notes about itself in `postmaster.pid`. */
export interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/** Reads `postmaster.pid`; null when there is none, or it is only half written. */
export async function readPidFile(folder: string): Promise<PidFile | null> {
  const text = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!Number.isInteger(pid) || pid <= 0 || !Number.isInteger(port)) return null;
  return { pid, port, ready: lines[7]?.trim() === 'ready' };
}

/**
 * Whether the process is a server of this folder. A number alone proves nothing: after a crash or in a new
 * container it soon belongs to somebody else. The server's working directory is its folder.
 */
export async function isServerOf(pid: number, folder: string): Promise<boolean> {
  if (process.platform === 'linux') {
    return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === folder;
  }
  return (await commandOf(pid)).includes(folder);
}

function commandOf(pid: number): Promise<string> {
  return new Promise((resolve) => {
    const ps = spawn('ps', ['-o', 'command=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] });
    let out = '';
    ps.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
    });
    ps.on('error', () => resolve(''));
    ps.on('close', () => resolve(out));
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Where the server listens beside TCP, or null when the folder's path is too long for it. */
export function socketFolder(folder: string): string | null {
  return Buffer.byteLength(join(folder, '.s.PGSQL.65535.lock')) <= SOCKET_PATH_BYTES ? folder : null;
}

/** Makes a lock that a dead server left behind harmless. */
async function clearStaleLocks(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith('.s.PGSQL.')) await rm(join(folder, name), { force: true });
  }
  const stale = await readPidFile(folder);
  if (stale === null || !isAlive(stale.pid)) return;
  // The number belongs to another process by now, and PostgreSQL would take that for a server. It ignores
  // the number of its parent; the rest of the file stays, since it leads to a check for surviving children.
  const path = join(folder, 'postmaster.pid');
  const lines = (await readFile(path, 'utf8')).split('\n');
  await writeFile(path, [process.pid, ...lines.slice(1)].join('\n'));
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('no free port')),
      );
    });
  });
}

/** Which server to start, and how. */
export interface ServerPlan {
  readonly binaries: Binaries;
  readonly cluster: Cluster;
  readonly logFile: string;
  readonly settings: Readonly<Record<string, string>>;
  /** The port that the service's URL already names; any free one without it. */
  readonly port?: number;
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  max_connections: '100',
  shared_buffers: '128MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // A refused statement is an answer to its caller, who logs it; its text may hold what nobody should read here.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

/** Starts a server and waits until it takes connections; null when another one has the folder or the port. */
export async function startServer(plan: ServerPlan): Promise<PidFile | null> {
  const { folder } = plan.cluster;
  await clearStaleLocks(folder);
  const port = plan.port ?? (await freePort());
  const settings = { ...SETTINGS, unix_socket_directories: socketFolder(folder) ?? '', ...plan.settings };
  const logStart = await sizeOf(plan.logFile);
  const log = openSync(plan.logFile, 'a', 0o600);
  const child = spawn(
    plan.binaries.postgres,
    [
      '-D',
      folder,
      '-p',
      String(port),
      ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
    ],
    // In a session of its own, Ctrl-C at the terminal reaches the service alone, which then stops it in order.
    {
      cwd: folder,
      env: serverEnvironment(),
      stdio: ['ignore', log, log],
      detached: true,
      ...plan.cluster.runAs,
    },
  );
  closeSync(log);
  child.unref();
  let ended: string | null = null;
  child.on('error', (error) => {
    ended = error.message;
  });
  child.on('exit', (code, signal) => {
    ended ??= `it ended with ${signal ?? `code ${code}`}`;
  });
  for (
    const deadline = performance.now() + START_TIMEOUT_MS;
    performance.now() < deadline;
    await pause(POLL_MS)
  ) {
    if (ended !== null) {
      const said = await readFrom(plan.logFile, logStart);
      if (CONTENTION.test(said)) return null;
      throw new EmbeddedError(
        `The embedded database does not start: ${ended}. It said:\n${said.trim() || '(nothing)'}\n` +
          `More may be in ${plan.logFile}. Set DATABASE_URL to use another PostgreSQL.`,
      );
    }
    const file = await readPidFile(folder);
    if (file?.pid === child.pid && file?.ready) return file;
  }
  if (child.pid !== undefined) await stopServer(child.pid, folder);
  throw new EmbeddedError(
    `The embedded database was not ready after ${START_TIMEOUT_MS / 1000} s: look into ${plan.logFile}.`,
  );
}

/** Stops a server: quickly but in order, and if that takes too long, as if it had crashed. */
export async function stopServer(pid: number, folder: string): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    if (!(await isServerOf(pid, folder))) return;
    process.kill(pid, signal);
    for (
      const deadline = performance.now() + FAST_STOP_MS;
      performance.now() < deadline;
      await pause(POLL_MS)
    ) {
      if (!(await isServerOf(pid, folder))) return;
    }
  }
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

async function readFrom(path: string, start: number): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(4096), position: start });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Keeps the server's log and one older part of it, each no bigger than a few megabytes. */
export async function boundLog(path: string): Promise<void> {
  if ((await sizeOf(path)) <= LOG_BYTES) return;
  await copyFile(path, `${path}.1`);
  // The server keeps its end of the file and appends: cut it, do not replace it.
  await truncate(path);
}
