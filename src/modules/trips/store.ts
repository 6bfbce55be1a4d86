import { type Queryable, rowsOf } from '../../db/statement.js';
import type { Trip } from '../guard/types.js';
import type { ClosedTrip, Subject, TripFilter } from './types.js';

interface TripRow {
  id: string;
  scope: Trip['scope'];
  kind: Trip['kind'];
  task_id: string | null;
  run_id: string | null;
  value: number;
  limit: number;
  over_percent: number;
  severity: Trip['severity'];
  action_required: Trip['actionRequired'];
  state: Trip['state'];
  layers: Trip['layers'];
  opened_at: Date;
  closed_at: Date | null;
  resolution: Trip['resolution'];
}

const COLUMNS = `id, scope, kind, task_id, run_id, value, "limit", over_percent, severity, action_required, state, layers, opened_at,
  closed_at, resolution`;

function tripOf(row: TripRow): Trip {
  return {
    id: row.id,
    scope: row.scope,
    kind: row.kind,
    taskId: row.task_id,
    runId: row.run_id,
    value: row.value,
    limit: row.limit,
    overPercent: row.over_percent,
    severity: row.severity,
    actionRequired: row.action_required,
    state: row.state,
    layers: row.layers,
    openedAt: row.opened_at.getTime(),
    closedAt: row.closed_at?.getTime() ?? null,
    resolution: row.resolution,
  };
}

/** A page of trips, newest first, with one more than asked when there are more. */
export async function listTrips(
  db: Queryable,
  projectId: string,
  filter: TripFilter,
  page: { readonly limit: number; readonly after: string | null },
): Promise<Trip[]> {
  const values: unknown[] = [projectId, page.limit + 1];
  const names: string[] = [];
  const conditions = ['project_id = $1'];
  const add = (name: string, value: string | null | undefined, condition: (parameter: string) => string) => {
    if (value === undefined || value === null) return;
    values.push(value);
    names.push(name);
    conditions.push(condition(`$${values.length}`));
  };
  add('after', page.after, (p) => `id < ${p}::uuid`);
  add('state', filter.state, (p) => `state = ${p}`);
  add('kind', filter.kind, (p) => `kind = ${p}`);
  add('scope', filter.scope, (p) => `scope = ${p}`);
  add('task', filter.taskId, (p) => `task_id = ${p}::uuid`);
  add('run', filter.runId, (p) => `run_id = ${p}::uuid`);
  add('severity', filter.severity, (p) => `severity = ${p}`);
  const rows = await rowsOf<TripRow>(db, {
    name: `trips_list_${names.join('_')}`,
    text: `SELECT ${COLUMNS} FROM trips WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT $2`,
    values,
  });
  return rows.map(tripOf);
}

/** One trip. */
export async function loadTrip(db: Queryable, projectId: string, tripId: string): Promise<Trip | null> {
  const [row] = await rowsOf<TripRow>(db, {
    name: 'trips_one',
    text: `SELECT ${COLUMNS} FROM trips WHERE project_id = $1 AND id = $2`,
    values: [projectId, tripId],
  });
  return row === undefined ? null : tripOf(row);
}

interface SubjectRow {
  id: string;
  name: string;
  description: string;
  acceptance: string[];
  state: string;
  recoveries: number;
  version: number;
  open_trip_id: string | null;
  created_at: Date;
  deadline_at: Date | null;
  can_end: boolean;
}

const TASK_SUBJECT = `SELECT id, title AS name, description, acceptance, state, unblock_count AS recoveries, version, open_trip_id, created_at,
    NULL::timestamptz AS deadline_at, true AS can_end
  FROM tasks WHERE project_id = $1 AND id = $2`;
const RUN_SUBJECT = `SELECT id, name, '' AS description, '{}'::text[] AS acceptance, state, recover_count AS recoveries, version, open_trip_id,
    created_at, deadline_at, NOT is_default AS can_end
  FROM runs WHERE project_id = $1 AND id = $2`;

/** The task or run behind a trip, as it is now; null for a trip of neither. */
export async function loadSubject(db: Queryable, projectId: string, trip: Trip): Promise<Subject | null> {
  const kind = trip.scope === 'task' ? 'task' : 'run';
  const id = trip.scope === 'task' ? trip.taskId : trip.scope === 'run' ? trip.runId : null;
  if (id === null) return null;
  const [row] = await rowsOf<SubjectRow>(db, {
    name: `trips_subject_${kind}`,
    text: kind === 'task' ? TASK_SUBJECT : RUN_SUBJECT,
    values: [projectId, id],
  });
  if (row === undefined) return null;
  return {
    kind,
    id: row.id,
    name: row.name,
    description: row.description,
    acceptance: row.acceptance,
    state: row.state,
    recoveries: row.recoveries,
    version: row.version,
    openTripId: row.open_trip_id,
    createdAt: row.created_at.getTime(),
    deadlineAt: row.deadline_at?.getTime() ?? null,
    canEnd: row.can_end,
  };
}

interface ClosedRow {
  id: string;
  scope: Trip['scope'];
  kind: Trip['kind'];
  task_id: string | null;
  run_id: string | null;
  layers: Trip['layers'];
  opened_at: Date;
  closed_at: Date;
  strategy: string;
  by_role: string;
  state: string | null;
  open_kind: string | null;
}

/** The last closed trips of tasks and runs, newest first, each with how its task or run stands now. */
export async function lastClosedTrips(
  db: Queryable,
  projectId: string,
  limit: number,
): Promise<ClosedTrip[]> {
  const rows = await rowsOf<ClosedRow>(db, {
    name: 'trips_closed',
    text: `SELECT t.*, s.state, o.kind AS open_kind
      FROM (SELECT id, scope, kind, task_id, run_id, layers, opened_at, closed_at, resolution->>'strategy' AS strategy,
          resolution->'by'->>'role' AS by_role
        FROM trips WHERE project_id = $1 AND state = 'closed' AND scope IN ('task', 'run') ORDER BY id DESC LIMIT $2) t
      CROSS JOIN LATERAL (
        SELECT state, open_trip_id FROM tasks WHERE t.scope = 'task' AND project_id = $1 AND id = t.task_id
        UNION ALL
        SELECT state, open_trip_id FROM runs WHERE t.scope = 'run' AND project_id = $1 AND id = t.run_id) s
      LEFT JOIN LATERAL (SELECT kind FROM trips WHERE project_id = $1 AND id = s.open_trip_id OFFSET 0) o ON true
      ORDER BY t.id DESC`,
    values: [projectId, limit],
  });
  return rows.map((row) => ({
    id: row.id,
    scope: row.scope,
    kind: row.kind,
    taskId: row.task_id,
    runId: row.run_id,
    layers: row.layers,
    openedAt: row.opened_at.getTime(),
    closedAt: row.closed_at.getTime(),
    strategy: row.strategy,
    by: row.by_role,
    state: row.state,
    openKind: row.open_kind,
  }));
}
