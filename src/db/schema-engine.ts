import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { DiffTarget, SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
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
  const imports: Record<string, unknown> = { ...bindings };
  for (const name of Object.keys(imports)) {
    if (!name.startsWith('__wbg_setTimeout_')) continue;
    // The engine never clears its timers; one of ten seconds would keep a finished process alive.
    imports[name] = (callback: () => void, ms: number) => setTimeout(callback, ms).unref();
  }
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': imports });
  bindings.__wbg_set_wasm(instance.exports);
  const start = instance.exports.__wbindgen_start;
  if (typeof start === 'function') start();
}

/**
 * The adapter cuts a script at every semicolon, also those inside of a function or a comment. Handed over
 * whole, the server reads it itself, and runs it in one transaction.
 */
class WholeScripts extends PrismaPg {
  /** Why a script failed: of that the engine tells nothing. */
  failure: unknown = null;

  override async connect() {
    const adapter = await super.connect();
    adapter.executeScript = async (script) => {
      try {
        await adapter.underlyingDriver().query(script);
      } catch (error) {
        this.failure = error;
        throw error;
      }
    };
    return adapter;
  }
}

/**
 * Runs something with Prisma's schema engine as WebAssembly. Its native form is a download that many build
 * networks refuse; this one comes with the package and talks to the database through `pg`.
 */
async function withEngine<T>(databaseUrl: string, use: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  // The bindings hold one instance: a second load would pull it from under the engines of the first.
  loaded ??= loadModule();
  await loaded;
  const pool = new pg.Pool({ connectionString: databaseUrl, application_name: 'fuseboard-migrate', max: 2 });
  // A lost connection fails the call that uses it; without a listener it would also end the process.
  pool.on('error', () => {});
  const scripts = new WholeScripts(pool);
  try {
    const adapter = bindMigrationAwareSqlAdapterFactory(scripts);
    const datamodels: [string, string][] = [['schema.prisma', await readSchema()]];
    return await use(await bindings.SchemaEngine.new({ datamodels }, () => {}, adapter));
  } catch (error) {
    throw scripts.failure ?? error;
  } finally {
    await pool.end();
  }
}

/** Applies what is not applied yet, and writes `_prisma_migrations` as `prisma migrate deploy` does. */
export function applyMigrations(databaseUrl: string, migrations: readonly Migration[]): Promise<string[]> {
  const migrationsList = {
    baseDir: 'prisma/migrations',
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name, sql }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: sql } },
    })),
  };
  return withEngine(databaseUrl, async (engine) => {
    const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList, filters: FILTERS });
    return appliedMigrationNames;
  });
}

function datamodel(content: string): DiffTarget {
  return { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content }] };
}

/**
 * The SQL that leads from one datamodel to another, from nothing when `from` is left out. The engine asks a
 * database for its version first, and changes nothing in it.
 */
export function schemaDiff(databaseUrl: string, to: string, from?: string): Promise<string> {
  return withEngine(databaseUrl, async (engine) => {
    const { stdout } = await engine.diff({
      from: from === undefined ? { tag: 'empty' } : datamodel(from),
      to: datamodel(to),
      script: true,
      exitCode: null,
      filters: FILTERS,
    });
    return stdout ?? '';
  });
}
