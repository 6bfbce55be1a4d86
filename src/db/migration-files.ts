import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// src/db and dist/db are equally deep, so the same step leads to the folder from both.
const PRISMA_FOLDER = fileURLToPath(new URL('../../prisma/', import.meta.url));

/** One folder of prisma/migrations. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
  /** As Prisma writes it into `_prisma_migrations`. */
  readonly checksum: string;
}

/** The text of prisma/schema.prisma. */
export function readSchema(): Promise<string> {
  return readFile(join(PRISMA_FOLDER, 'schema.prisma'), 'utf8');
}

/** Every migration of this version, oldest first. */
export async function readMigrations(): Promise<Migration[]> {
  const entries = await readdir(join(PRISMA_FOLDER, 'migrations'), { withFileTypes: true });
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(PRISMA_FOLDER, 'migrations', name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}
