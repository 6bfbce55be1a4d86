import { jsons, plain, type Statement, timestamp } from '../../db/statement.js';
import type { Trip } from './types.js';

/** Writes trips, new or changed. */
export function writeTrips(projectId: string, trips: readonly Trip[]): Statement {
  return {
    name: 'trips_write',
    text: `INSERT INTO trips (project_id, id, scope, kind, task_id, run_id, value, "limit", over_percent, severity, action_required, state,
        opened_at, closed_at, layers, resolution)
      SELECT $1, u.id, u.scope, u.kind, u.task_id, u.run_id, u.value, u."limit", u.over_percent, u.severity, u.action_required, u.state,
        u.opened_at, u.closed_at, u.layers, nullif(u.resolution, 'null')
      FROM ROWS FROM (unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::uuid[], $7::float8[], $8::float8[], $9::float8[], $10::text[],
        $11::text[], $12::text[], $13::timestamptz[], $14::timestamptz[]), jsonb_array_elements($15::jsonb), jsonb_array_elements($16::jsonb))
        AS u(id, scope, kind, task_id, run_id, value, "limit", over_percent, severity, action_required, state, opened_at, closed_at, layers, resolution)
      ON CONFLICT (project_id, id) DO UPDATE SET value = excluded.value, "limit" = excluded."limit", over_percent = excluded.over_percent,
        severity = excluded.severity, action_required = excluded.action_required, state = excluded.state, layers = excluded.layers,
        closed_at = excluded.closed_at, resolution = excluded.resolution`,
    values: [
      projectId,
      plain(trips, (t) => t.id),
      plain(trips, (t) => t.scope),
      plain(trips, (t) => t.kind),
      plain(trips, (t) => t.taskId),
      plain(trips, (t) => t.runId),
      plain(trips, (t) => t.value),
      plain(trips, (t) => t.limit),
      plain(trips, (t) => t.overPercent),
      plain(trips, (t) => t.severity),
      plain(trips, (t) => t.actionRequired),
      plain(trips, (t) => t.state),
      plain(trips, (t) => timestamp(t.openedAt)),
      plain(trips, (t) => timestamp(t.closedAt)),
      jsons(trips, (t) => t.layers),
      jsons(trips, (t) => t.resolution),
    ],
  };
}
