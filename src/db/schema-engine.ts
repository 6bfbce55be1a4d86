import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { DiffTarget, SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import { type Migration, readSchema } from './migration-files.js';

declare global {
  // The types of Node 20 name the namespace without its functions.
  namespace WebAssembly {
    function instantiate(
      bytes: Uint8Array,
      imports: Record<string, object>,
    ): Promise<{ instance: { exports: Record<string, unknown> } }>;
  }
}

const FILTERS = { externalTables: [], externalEnums: [] };
let loaded: Promise<void> | undefined;

async function loadModule(): Promise<void> {
  const folder = dirname(
    createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg'),
  );
  const bytes = await readFile(join(folder, 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': { ...bindings } });
  bindings.__wbg_set_wasm(instance.exports);
  const start = instance.exports.__wbindgen_start;
  if (typeof start === 'function') start();
}

/**
 * Prisma's schema engine as WebAssembly. Its native form is a download that many build networks refuse;
 * this one comes with the package and talks to the database through `pg`.
 */
export async function openEngine(databaseUrl: string): Promise<SchemaEngine> {
  // The bindings hold one instance: a second load would pull it from under the engines of the first.
  loaded ??= loadModule();
  await loaded;
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: databaseUrl }));
  return bindings.SchemaEngine.new(
    { datamodels: [['schema.prisma', await readSchema()]] },
    () => {},
    adapter,
  );
}

/** Applies what is not applied yet, and writes `_prisma_migrations` as `prisma migrate deploy` does. */
export async function applyMigrations(
  databaseUrl: string,
  migrations: readonly Migration[],
): Promise<string[]> {
  const engine = await openEngine(databaseUrl);
  const { appliedMigrationNames } = await engine.applyMigrations({
    migrationsList: {
      baseDir: 'prisma/migrations',
      lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
      shadowDbInitScript: '',
      migrationDirectories: migrations.map(({ name, sql }) => ({
        path: name,
        migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
      })),
    },
    filters: FILTERS,
  });
  return appliedMigrationNames;
}

function datamodel(content: string): DiffTarget {
  return { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content }] };
}

/**
 * The SQL that leads from one datamodel to another, from nothing when `from` is left out. The engine asks a
 * database for its version first, and changes nothing in it.
 */
export async function schemaDiff(databaseUrl: string, to: string, from?: string): Promise<string> {
  const engine = await openEngine(databaseUrl);
  const { stdout } = await engine.diff({
    from: from === undefined ? { tag: 'empty' } : datamodel(from),
    to: datamodel(to),
    script: true,
    exitCode: null,
    filters: FILTERS,
  });
  return stdout ?? '';
}
