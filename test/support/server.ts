import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../../src/db/embedded.js';
import type { DatabaseLog } from '../../src/db/log.js';

/** Says nothing, but when something went wrong. */
export const quietLog: DatabaseLog = {
  info() {},
  warn(details, message) {
    console.warn(message, details);
  },
  error(details, message) {
    console.error(message, details);
  },
};

/** A test server loses its data with the machine's power, and nobody minds. */
const FAST = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_connections: '300',
};

/** A folder under the system's temporary one, which the server's user can enter too. */
export async function makeFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'fuseboard-test-'));
  await chmod(path, 0o755);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A throw-away PostgreSQL; it goes with this process, also when that ends early. */
export async function startTestServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = await makeFolder();
  const embedded = await openEmbedded({ dataDir: folder.path, log: quietLog, settings: FAST });
  const onExit = () => process.kill(embedded.pid(), 'SIGQUIT');
  process.once('exit', onExit);
  return {
    url: embedded.url,
    async stop() {
      process.off('exit', onExit);
      await embedded.stop();
      await folder.remove();
    },
  };
}
