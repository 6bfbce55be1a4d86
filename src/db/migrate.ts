import pg from 'pg';
import type { DatabaseLog } from './log.js';
import { type Migration, readMigrations } from './migration-files.js';

/** Any number, the same in every process: it names the lock that lets one of them migrate at a time. */
const MIGRATION_LOCK = '7305808869229538';
const CONNECT_TIMEOUT_MS = 5000;
const UNDEFINED_TABLE = '42P01';

interface Row {
  migration_name: string;
  checksum: string;
  finished: boolean;
}

/** The database and this version do not fit together; starting would do harm. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

async function readHistory(client: pg.Client): Promise<Row[]> {
  try {
    const { rows } = await client.query<Row>(
      `SELECT migration_name, checksum, finished_at IS NOT NULL AS finished
         FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
    );
    return rows;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return [];
    throw error;
  }
}

function pendingOf(migrations: readonly Migration[], history: readonly Row[]): string[] {
  const ours = new Map(migrations.map((migration) => [migration.name, migration.checksum]));
  for (const { migration_name: name, checksum, finished } of history) {
    if (!finished) {
      throw new MigrationError(
        `The migration ${name} began and never finished. Restore the database from a backup, or repair it by ` +
          'hand and delete the row of that name from _prisma_migrations; then start again.',
      );
    }
    const expected = ours.get(name);
    if (expected === undefined) {
      throw new MigrationError(
        `The database has the migration ${name}, which this version does not know: a newer Fuseboard has ` +
          'used it. Start that version or a later one, or give this one another database.',
      );
    }
    if (expected !== checksum) {
      throw new MigrationError(
        `The migration ${name} was changed after this database applied it. Put the file back as it was ` +
          '(line endings count too), and make the change in a new migration.',
      );
    }
  }
  const applied = new Set(history.map((row) => row.migration_name));
  return migrations.flatMap(({ name }) => (applied.has(name) ? [] : [name]));
}

/** What to do about a migration of which a statement failed. The server runs each as a whole, or not at all. */
async function explained(error: unknown, client: pg.Client): Promise<unknown> {
  if (!(error instanceof pg.DatabaseError)) return error;
  const [begun] = (await readHistory(client)).filter(({ finished }) => !finished);
  return new MigrationError(
    `The migration ${begun?.migration_name ?? ''} failed: ${error.message}. Its changes were undone. Go on with the older ` +
      'version from the backup; or remove what was in the way, delete the row of that name from _prisma_migrations, ' +
      'and start again.',
    { cause: error },
  );
}

/**
 * Brings the database to the schema of this version. One plain query tells whether anything is to be done;
 * only then is the engine loaded, under a lock, so that several processes may start at once.
 */
export async function migrate(
  databaseUrl: string,
  { log }: { log: DatabaseLog },
): Promise<{ applied: string[] }> {
  const migrations = await readMigrations();
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'fuseboard-migrate',
  });
  // A lost connection fails the query that is under way; without a listener it would also end the process.
  client.on('error', (error) => log.warn({ err: error }, 'the connection that migrates was lost'));
  await client.connect();
  try {
    if (pendingOf(migrations, await readHistory(client)).length === 0) return { applied: [] };
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const pending = pendingOf(migrations, await readHistory(client));
    if (pending.length === 0) return { applied: [] };
    log.info({ migrations: pending }, 'migrating the database');
    const { applyMigrations } = await import('./schema-engine.js');
    try {
      return { applied: await applyMigrations(databaseUrl, migrations) };
    } catch (error) {
      throw await explained(error, client);
    }
  } finally {
    // Ending the connection gives the lock back.
    await client.end();
  }
}
