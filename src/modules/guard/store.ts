import {
  jsons,
  plain,
  type Queryable,
  rowsOf,
  type Statement,
  texts,
  timestamp,
} from '../../db/statement.js';
import type { Breaker, Failure, Trip } from './types.js';

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
      ON CONFLICT (project_id, id) DO UPDATE SET kind = excluded.kind, value = excluded.value, "limit" = excluded."limit",
        over_percent = excluded.over_percent, severity = excluded.severity, action_required = excluded.action_required, state = excluded.state, layers = excluded.layers,
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

interface BreakerRow {
  id: string;
  scope: Breaker['scope'];
  agent_id: string | null;
  state: Breaker['state'];
  fingerprint: string | null;
  reason: string | null;
  opened_at: Date | null;
  half_open_at: Date | null;
  openings: number;
  probe: Breaker['probe'];
  failures: Failure[];
  trip: Trip | null;
  updated_at: Date;
}

/** The breakers of a project that have ever had anything to remember. */
export async function loadBreakers(db: Queryable, projectId: string): Promise<Breaker[]> {
  const rows = await rowsOf<BreakerRow>(db, {
    name: 'breakers_of_project',
    text: `SELECT id, scope, agent_id, state, fingerprint, reason, opened_at, half_open_at, openings, probe, failures, trip, updated_at
      FROM breakers WHERE project_id = $1`,
    values: [projectId],
  });
  return rows.map((row) => ({
    id: row.id,
    scope: row.scope,
    agentId: row.agent_id,
    state: row.state,
    fingerprint: row.fingerprint,
    openedAt: row.opened_at?.getTime() ?? null,
    halfOpenAt: row.half_open_at?.getTime() ?? null,
    openings: row.openings,
    probe: row.probe,
    failures: row.failures,
    trip: row.trip,
    reason: row.reason,
    updatedAt: row.updated_at.getTime(),
  }));
}

/** Writes breakers, new or changed. */
export function writeBreakers(projectId: string, breakers: readonly Breaker[]): Statement {
  return {
    name: 'breakers_write',
    text: `INSERT INTO breakers (project_id, id, scope, agent_id, state, opened_at, half_open_at, openings, updated_at, fingerprint,
        reason, probe, failures, trip)
      SELECT $1, u.id, u.scope, u.agent_id, u.state, u.opened_at, u.half_open_at, u.openings, u.updated_at, u.fingerprint, u.reason,
        nullif(u.probe, 'null'), u.failures, nullif(u.trip, 'null')
      FROM ROWS FROM (unnest($2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::timestamptz[], $7::timestamptz[], $8::int[],
        $9::timestamptz[], $10::text[], $11::text[]), jsonb_array_elements($12::jsonb), jsonb_array_elements($13::jsonb),
        jsonb_array_elements($14::jsonb))
        AS u(id, scope, agent_id, state, opened_at, half_open_at, openings, updated_at, fingerprint, reason, probe, failures, trip)
      ON CONFLICT (project_id, id) DO UPDATE SET state = excluded.state, opened_at = excluded.opened_at, half_open_at = excluded.half_open_at,
        openings = excluded.openings, trip = excluded.trip, updated_at = excluded.updated_at, fingerprint = excluded.fingerprint,
        reason = excluded.reason, probe = excluded.probe, failures = excluded.failures`,
    values: [
      projectId,
      plain(breakers, (b) => b.id),
      plain(breakers, (b) => b.scope),
      plain(breakers, (b) => b.agentId),
      plain(breakers, (b) => b.state),
      plain(breakers, (b) => timestamp(b.openedAt)),
      plain(breakers, (b) => timestamp(b.halfOpenAt)),
      plain(breakers, (b) => b.openings),
      plain(breakers, (b) => timestamp(b.updatedAt)),
      texts(breakers, (b) => b.fingerprint),
      texts(breakers, (b) => b.reason),
      jsons(breakers, (b) => b.probe),
      jsons(breakers, (b) => b.failures),
      jsons(breakers, (b) => b.trip),
    ],
  };
}
