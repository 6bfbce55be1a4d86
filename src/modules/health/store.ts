import { type Queryable, rowsOf } from '../../db/statement.js';
import { CHECK } from './rules-store.js';
import type { Breach, Checkup } from './types.js';

/**
 * Holds one project against every invariant. All of it is one statement, so that the log is read once; over a snapshot, what is
 * written meanwhile is not seen.
 */
export async function checkProject(db: Queryable, projectId: string): Promise<Checkup> {
  const [moment] = await rowsOf<{ position: number; checkedAt: number }>(db, {
    name: 'health_moment',
    text: `SELECT position::float8 AS position, extract(epoch FROM now())::float8 * 1000 AS "checkedAt" FROM projects WHERE id = $1`,
    values: [projectId],
  });
  if (moment === undefined) throw new Error(`project ${projectId} is not there`);
  const breaches = await rowsOf<Breach & Record<string, unknown>>(db, {
    name: 'health_check',
    text: CHECK,
    values: [projectId],
  });
  return { ...moment, breaches };
}
