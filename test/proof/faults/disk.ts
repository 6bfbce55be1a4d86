import { execFileSync } from 'node:child_process';
import { chownSync } from 'node:fs';
import { findServerUser } from '../../../src/db/embedded-binaries.js';
import { makeFolder } from '../../support/server.js';

/** A small disk of its own, which the tests' server may write to. */
export interface Disk {
  readonly path: string;
  remove(): Promise<void>;
}

/** Makes one in memory; null where that is not allowed, or the tests' server is not on this machine. */
export async function mountDisk(megabytes: number): Promise<Disk | null> {
  const user = await findServerUser();
  if (user === null || process.env.FUSEBOARD_TEST_DATABASE_URL !== undefined) return null;
  const folder = await makeFolder();
  try {
    const options = { stdio: 'ignore' } as const;
    execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder.path], options);
  } catch {
    await folder.remove();
    return null;
  }
  chownSync(folder.path, user.uid, user.gid);
  return {
    path: folder.path,
    async remove() {
      // Lazily: a test that failed may have left a table there.
      execFileSync('/bin/umount', ['--lazy', folder.path]);
      await folder.remove();
    },
  };
}
