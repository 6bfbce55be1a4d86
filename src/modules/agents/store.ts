import { type Queryable, rowsOf } from '../../db/statement.js';

/** An agent as decisions about hands need it. */
export interface RosterRow {
  readonly id: string;
  readonly name: string;
  readonly isExecutor: boolean;
  readonly isReviewer: boolean;
  readonly lastSeenAt: number | null;
}

/** The agents of a project. */
export async function loadRoster(db: Queryable, projectId: string): Promise<RosterRow[]> {
  return rowsOf<RosterRow & Record<string, unknown>>(db, {
    name: 'agents_roster',
    text: `SELECT id, name, 'executor' = ANY(roles) AS "isExecutor", 'reviewer' = ANY(roles) AS "isReviewer",
        floor(extract(epoch FROM last_seen_at) * 1000)::bigint AS "lastSeenAt" FROM agents WHERE project_id = $1`,
    values: [projectId],
  });
}
