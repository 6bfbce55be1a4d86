import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Binaries, checkReach, type ServerUser } from './embedded-binaries.js';
import { EmbeddedError } from './embedded-error.js';

const run = promisify(execFile);
const SUPERUSER = 'fuseboard';
const PASSWORD_FILE = 'fuseboard.password';
const UNFINISHED = 'postgres.new-';
const ABANDONED_AFTER_MS = 600_000;

/** A database folder that has been initialised. */
export interface Cluster {
  readonly folder: string;
  readonly user: string;
  readonly password: string;
  /** The user that the server runs as, when that is not the user of this process. */
  readonly runAs: ServerUser | null;
}

/** Opens `<dataDir>/postgres`, and makes it first if it is not there. */
export async function openCluster(
  dataDir: string,
  binaries: Binaries,
  runAs: ServerUser | null,
): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true });
  const home = await realpath(dataDir);
  if (runAs !== null) await checkReach([binaries.postgres, home], runAs);
  const folder = join(home, 'postgres');
  if (!(await isMade(folder))) await makeCluster(home, folder, binaries, runAs);
  await checkVersion(folder, binaries);
  try {
    return {
      folder,
      user: SUPERUSER,
      password: (await readFile(join(folder, PASSWORD_FILE), 'utf8')).trim(),
      // An ordinary user made it, and now root starts it: the server stays that user's.
      runAs: runAs && (await ownerOf(folder)),
    };
  } catch (cause) {
    throw new EmbeddedError(
      `The password of the database in ${folder} cannot be read: restore ${PASSWORD_FILE} there, start ` +
        'Fuseboard as the user who started it before, or move the folder away to begin anew.',
      { cause },
    );
  }
}

async function ownerOf(folder: string): Promise<ServerUser> {
  const { uid, gid } = await stat(folder);
  return { uid, gid };
}

async function isMade(folder: string): Promise<boolean> {
  try {
    await stat(join(folder, 'PG_VERSION'));
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return false;
    throw new EmbeddedError(
      `The database folder ${folder} cannot be read: start Fuseboard as the user who started it before, or set ` +
        'FUSEBOARD_DATA_DIR to another folder.',
      { cause },
    );
  }
}

/** Made beside its place and moved there whole: a start that dies half-way, or two at once, leave no half cluster. */
async function makeCluster(
  home: string,
  folder: string,
  binaries: Binaries,
  runAs: ServerUser | null,
): Promise<void> {
  await removeAbandoned(home);
  const draft = join(home, `${UNFINISHED}${randomBytes(6).toString('hex')}`);
  const passwordFile = `${draft}.password`;
  try {
    await mkdir(draft, { mode: 0o700 });
    await writeFile(passwordFile, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
    if (runAs !== null) {
      await chown(draft, runAs.uid, runAs.gid);
      await chown(passwordFile, runAs.uid, runAs.gid);
    }
    await run(
      binaries.initdb,
      [
        `--pgdata=${draft}`,
        `--username=${SUPERUSER}`,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        // Sorts by code point on every machine, and still knows the cases of all letters.
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--no-instructions',
      ],
      { cwd: draft, env: serverEnvironment(), ...runAs },
    );
    await rename(passwordFile, join(draft, PASSWORD_FILE));
    await chmod(join(draft, PASSWORD_FILE), 0o600);
    await rename(draft, folder);
  } catch (cause) {
    if (await isMade(folder)) return;
    throw new EmbeddedError(
      `The database folder ${folder} could not be made: ${reasonOf(cause)} Set DATABASE_URL to use another ` +
        'PostgreSQL.',
      { cause },
    );
  } finally {
    await rm(draft, { recursive: true, force: true });
    await rm(passwordFile, { force: true });
  }
}

async function removeAbandoned(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const path = join(home, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
  }
}

function reasonOf(cause: unknown): string {
  if (
    cause instanceof Error &&
    'stderr' in cause &&
    typeof cause.stderr === 'string' &&
    cause.stderr !== ''
  ) {
    return cause.stderr.trim();
  }
  return cause instanceof Error ? `${cause.message}.` : String(cause);
}

async function checkVersion(folder: string, binaries: Binaries): Promise<void> {
  const made = (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim();
  if (made === binaries.version) return;
  throw new EmbeddedError(
    `The database in ${folder} was made by PostgreSQL ${made}, and this Fuseboard ` +
      `brings version ${binaries.version}: start the Fuseboard that made it, or move the folder away to begin anew.`,
  );
}

/** Only what the server needs: keys and passwords of the service's environment are none of its business. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}
