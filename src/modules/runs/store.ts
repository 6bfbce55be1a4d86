import { column, json, type Queryable, rowsOf, type Statement, timestamp } from '../../db/statement.js';
import type { OwnLimits } from '../guard/types.js';
import type { IterationMode, Run, RunMemory, RunState } from './types.js';

interface RunRow {
  id: string;
  project_id: string;
  name: string;
  is_default: boolean;
  state: RunState;
  iteration_mode: IterationMode;
  iterations: number;
  limits: OwnLimits;
  tokens_used: number;
  cost_micros: number;
  deadline_at: Date | null;
  open_trip_id: string | null;
  trip_count: number;
  recover_count: number;
  task_counts: { [state: string]: number };
  memory: RunMemory;
  version: number;
  created_at: Date;
  updated_at: Date;
  closed_at: Date | null;
}

const COLUMNS = `id, project_id, name, is_default, state, iteration_mode, iterations, limits, tokens_used, cost_micros, deadline_at,
  open_trip_id, trip_count, recover_count, task_counts, memory, version, created_at, updated_at, closed_at`;

function runOf(row: RunRow): Run {
  return {
    id: row.id,
    projectId: row.project_id,
    name: row.name,
    isDefault: row.is_default,
    state: row.state,
    iterationMode: row.iteration_mode,
    iterations: row.iterations,
    limits: row.limits,
    tokensUsed: row.tokens_used,
    costMicros: row.cost_micros,
    deadlineAt: row.deadline_at?.getTime() ?? null,
    openTripId: row.open_trip_id,
    tripCount: row.trip_count,
    recoverCount: row.recover_count,
    taskCounts: row.task_counts,
    memory: row.memory,
    version: row.version,
    createdAt: row.created_at.getTime(),
    updatedAt: row.updated_at.getTime(),
    closedAt: row.closed_at?.getTime() ?? null,
  };
}

/** The runs in which something may still happen. */
export async function loadLiveRuns(db: Queryable, projectId: string): Promise<Run[]> {
  const rows = await rowsOf<RunRow>(db, {
    name: 'runs_live',
    text: `SELECT ${COLUMNS} FROM runs WHERE project_id = $1 AND state <> 'closed'`,
    values: [projectId],
  });
  return rows.map(runOf);
}

/** Runs by id; those that are not there are left out. */
export async function loadRuns(db: Queryable, projectId: string, ids: readonly string[]): Promise<Run[]> {
  const rows = await rowsOf<RunRow>(db, {
    name: 'runs_by_id',
    text: `SELECT ${COLUMNS} FROM runs WHERE project_id = $1 AND id = ANY($2::uuid[])`,
    values: [projectId, ids],
  });
  return rows.map(runOf);
}

/** A page of runs, newest first. */
export async function listRuns(db: Queryable, projectId: string, page: { limit: number; after: string | null }): Promise<Run[]> {
  const rows = await rowsOf<RunRow>(db, {
    name: 'runs_page',
    text: `SELECT ${COLUMNS} FROM runs WHERE project_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    values: [projectId, page.after, page.limit + 1],
  });
  return rows.map(runOf);
}

/** Writes runs, new or changed. */
export function writeRuns(projectId: string, runs: readonly Run[]): Statement {
  return {
    name: 'runs_write',
    text: `INSERT INTO runs (project_id, ${COLUMNS.replace('project_id, ', '')})
      SELECT $1, * FROM unnest($2::uuid[], $3::text[], $4::boolean[], $5::text[], $6::text[], $7::int[], $8::jsonb[], $9::bigint[], $10::bigint[],
        $11::timestamptz[], $12::uuid[], $13::int[], $14::int[], $15::jsonb[], $16::jsonb[], $17::int[], $18::timestamptz[], $19::timestamptz[],
        $20::timestamptz[])
      ON CONFLICT (project_id, id) DO UPDATE SET name = excluded.name, state = excluded.state, iteration_mode = excluded.iteration_mode,
        iterations = excluded.iterations, limits = excluded.limits, tokens_used = excluded.tokens_used, cost_micros = excluded.cost_micros,
        deadline_at = excluded.deadline_at, open_trip_id = excluded.open_trip_id, trip_count = excluded.trip_count,
        recover_count = excluded.recover_count, task_counts = excluded.task_counts, memory = excluded.memory, version = excluded.version,
        updated_at = excluded.updated_at, closed_at = excluded.closed_at`,
    values: [
      projectId,
      column(runs, (r) => r.id),
      column(runs, (r) => r.name),
      column(runs, (r) => r.isDefault),
      column(runs, (r) => r.state),
      column(runs, (r) => r.iterationMode),
      column(runs, (r) => r.iterations),
      column(runs, (r) => json(r.limits)),
      column(runs, (r) => r.tokensUsed),
      column(runs, (r) => r.costMicros),
      column(runs, (r) => timestamp(r.deadlineAt)),
      column(runs, (r) => r.openTripId),
      column(runs, (r) => r.tripCount),
      column(runs, (r) => r.recoverCount),
      column(runs, (r) => json(r.taskCounts)),
      column(runs, (r) => json(r.memory)),
      column(runs, (r) => r.version),
      column(runs, (r) => timestamp(r.createdAt)),
      column(runs, (r) => timestamp(r.updatedAt)),
      column(runs, (r) => timestamp(r.closedAt)),
    ],
  };
}
