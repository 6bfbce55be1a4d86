import type pg from 'pg';
import { inSnapshot } from '../../src/db/snapshot.js';
import { checkProject } from '../../src/modules/health/index.js';
import { SOAK } from './soak.js';

const TIMEOUT_MS = 600_000;

/** Holds a project, or every one, against the invariants of the service; answers those that are broken, each with examples. */
export async function audit(pool: pg.Pool, projectId?: string): Promise<Record<string, readonly string[]>> {
  const { connectionString = '' } = pool.options;
  // Many rows are read by plans that know of them.
  if (SOAK > 1) await pool.query('ANALYZE');
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM projects WHERE $1::uuid IS NULL OR id = $1',
    [projectId ?? null],
  );
  const broken: Record<string, readonly string[]> = {};
  await inSnapshot(connectionString, TIMEOUT_MS, async (db) => {
    for (const { id } of rows) {
      const { breaches } = await checkProject(db, id);
      for (const { rule, examples } of breaches) broken[rule] = [...(broken[rule] ?? []), ...examples];
    }
  });
  return broken;
}
