// Starts the service as a user does, kills it, starts it again on the same data, and stops it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const READY_MS = 60_000;
const STOP_MS = 10_000;
const LOOK_MS = 50;

const dataDir = mkdtempSync(join(tmpdir(), 'fuseboard-boot-'));
// Started as root, the database runs as another user, who must be able to enter.
chmodSync(dataDir, 0o755);
const pidFile = join(dataDir, 'postgres', 'postmaster.pid');

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

/** A group of its own, so that npm, its shell and the service can be killed together. */
function start(port) {
  return spawn('npm', ['start', '--silent'], {
    env: { ...process.env, PORT: String(port), FUSEBOARD_DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
}

async function untilReady(child, port) {
  const begin = performance.now();
  while (performance.now() - begin < READY_MS) {
    assert.equal(child.exitCode, null, 'the service ended before it was ready');
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    if (answer?.status === 200) return Math.round(performance.now() - begin);
    await pause(LOOK_MS);
  }
  throw new Error(`not ready after ${READY_MS} ms`);
}

/** Ends what is left of a group, and the database that outlives it on purpose. */
function killAll(child) {
  for (const pid of [
    child && -child.pid,
    existsSync(pidFile) && Number.parseInt(readFileSync(pidFile, 'utf8'), 10),
  ]) {
    if (!pid) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It had ended by itself.
    }
  }
}

let child;
try {
  const port = await freePort();
  child = start(port);
  console.log(`ready after ${await untilReady(child, port)} ms`);

  const killed = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await killed;
  child = start(port);
  console.log(`after kill -9, ready again after ${await untilReady(child, port)} ms`);

  const stopped = once(child, 'exit');
  const begin = performance.now();
  child.kill('SIGTERM');
  const [code] = await Promise.race([
    stopped,
    pause(STOP_MS, undefined, { ref: false }).then(() => {
      throw new Error(`still running ${STOP_MS} ms after SIGTERM`);
    }),
  ]);
  console.log(`stopped after ${Math.round(performance.now() - begin)} ms with code ${code}`);
  assert.equal(code, 0, 'SIGTERM must end the service with code 0');
  assert.equal(existsSync(pidFile), false, 'the database must stop with the service');
} finally {
  killAll(child);
  rmSync(dataDir, { recursive: true, force: true });
}
