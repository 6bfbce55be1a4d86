import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Migration } from '../../../src/db/migration-files.js';

/** This version. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A copy of this version that has one migration more: the version after it. */
export async function nextVersion(folder: string, { name, sql }: Migration): Promise<string> {
  const root = join(folder, 'version');
  await mkdir(root);
  for (const part of ['src', 'prisma', 'package.json'])
    await cp(join(ROOT, part), join(root, part), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  await mkdir(join(root, 'prisma', 'migrations', name));
  await writeFile(join(root, 'prisma', 'migrations', name, 'migration.sql'), sql);
  return root;
}

/** A served process: what `npm start` runs, with a data folder of its own. */
export class Service {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  /** Starts a version over a database whose agents have these keys, and answers when it is ready. */
  static async start(
    root: string,
    databaseUrl: string,
    dataDir: string,
    keys: Readonly<Record<string, string>>,
  ): Promise<Service> {
    await mkdir(dataDir);
    const lines = Object.entries(keys).map(([role, key]) => `FUSEBOARD_${role.toUpperCase()}_KEY=${key}`);
    await writeFile(join(dataDir, 'keys.env'), `${lines.join('\n')}\n`);
    const child = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        PORT: '0',
        DATABASE_URL: databaseUrl,
        FUSEBOARD_DATA_DIR: dataDir,
        LOG_LEVEL: 'warn',
      },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    let said = '';
    for await (const piece of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      said += piece;
      const [, url] = /is ready at (\S+)/.exec(said) ?? [];
      if (url !== undefined) return new Service(child, url);
    }
    throw new Error(`a version did not start: ${said}`);
  }

  /** Ends it as an operator does; answers its exit code. */
  async stop(): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const [code] = await ended;
    return code;
  }
}
