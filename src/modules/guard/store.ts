import { column, json, type Statement, timestamp } from '../../db/statement.js';
import type { Trip } from './types.js';

/** Writes trips, new or changed. */
export function writeTrips(projectId: string, trips: readonly Trip[]): Statement {
  return {
    name: 'trips_write',
    text: `INSERT INTO trips (project_id, id, scope, kind, task_id, run_id, value, "limit", over_percent, severity, action_required, state, layers,
        opened_at, closed_at, resolution)
      SELECT $1, * FROM unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::uuid[], $7::float8[], $8::float8[], $9::float8[], $10::text[],
        $11::text[], $12::text[], $13::jsonb[], $14::timestamptz[], $15::timestamptz[], $16::jsonb[])
      ON CONFLICT (project_id, id) DO UPDATE SET value = excluded.value, "limit" = excluded."limit", over_percent = excluded.over_percent,
        severity = excluded.severity, action_required = excluded.action_required, state = excluded.state, layers = excluded.layers,
        closed_at = excluded.closed_at, resolution = excluded.resolution`,
    values: [
      projectId,
      column(trips, (t) => t.id),
      column(trips, (t) => t.scope),
      column(trips, (t) => t.kind),
      column(trips, (t) => t.taskId),
      column(trips, (t) => t.runId),
      column(trips, (t) => t.value),
      column(trips, (t) => t.limit),
      column(trips, (t) => t.overPercent),
      column(trips, (t) => t.severity),
      column(trips, (t) => t.actionRequired),
      column(trips, (t) => t.state),
      column(trips, (t) => json(t.layers)),
      column(trips, (t) => timestamp(t.openedAt)),
      column(trips, (t) => timestamp(t.closedAt)),
      column(trips, (t) => (t.resolution === null ? null : json(t.resolution))),
    ],
  };
}
