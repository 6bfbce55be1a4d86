import {
  jsons,
  overColumns,
  plain,
  type Queryable,
  rowsOf,
  type Statement,
  texts,
  timestamp,
} from '../../db/statement.js';
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
export async function listRuns(
  db: Queryable,
  projectId: string,
  page: { limit: number; after: string | null },
): Promise<Run[]> {
  const rows = await rowsOf<RunRow>(db, {
    name: 'runs_page',
    text: `SELECT ${COLUMNS} FROM runs WHERE project_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    values: [projectId, page.after, page.limit + 1],
  });
  return rows.map(runOf);
}

const WRITE = overColumns(
  'runs_write',
  [
    ['id', 'uuid'],
    ['name', 'text'],
    ['is_default', 'boolean'],
    ['state', 'text'],
    ['iteration_mode', 'text'],
    ['iterations', 'int'],
    ['tokens_used', 'bigint'],
    ['cost_micros', 'bigint'],
    ['deadline_at', 'timestamptz'],
    ['open_trip_id', 'uuid'],
    ['trip_count', 'int'],
    ['recover_count', 'int'],
    ['version', 'int'],
    ['created_at', 'timestamptz'],
    ['updated_at', 'timestamptz'],
    ['closed_at', 'timestamptz'],
    ['limits', 'json'],
    ['task_counts', 'json'],
    ['memory', 'json'],
  ],
  (
    rows,
  ) => `INSERT INTO runs (project_id, id, name, is_default, state, iteration_mode, iterations, tokens_used, cost_micros, deadline_at, open_trip_id,
        trip_count, recover_count, version, created_at, updated_at, closed_at, limits, task_counts, memory)
      SELECT $1, u.* FROM ${rows}
      ON CONFLICT (project_id, id) DO UPDATE SET name = excluded.name, state = excluded.state, iteration_mode = excluded.iteration_mode,
        iterations = excluded.iterations, limits = excluded.limits, tokens_used = excluded.tokens_used, cost_micros = excluded.cost_micros,
        deadline_at = excluded.deadline_at, open_trip_id = excluded.open_trip_id, trip_count = excluded.trip_count,
        recover_count = excluded.recover_count, task_counts = excluded.task_counts, memory = excluded.memory, version = excluded.version,
        updated_at = excluded.updated_at, closed_at = excluded.closed_at`,
);

/** Writes runs, new or changed. */
export function writeRuns(projectId: string, runs: readonly Run[]): Statement {
  return {
    ...WRITE(runs.length),
    values: [
      projectId,
      plain(runs, (r) => r.id),
      texts(runs, (r) => r.name),
      plain(runs, (r) => r.isDefault),
      plain(runs, (r) => r.state),
      plain(runs, (r) => r.iterationMode),
      plain(runs, (r) => r.iterations),
      plain(runs, (r) => r.tokensUsed),
      plain(runs, (r) => r.costMicros),
      plain(runs, (r) => timestamp(r.deadlineAt)),
      plain(runs, (r) => r.openTripId),
      plain(runs, (r) => r.tripCount),
      plain(runs, (r) => r.recoverCount),
      plain(runs, (r) => r.version),
      plain(runs, (r) => timestamp(r.createdAt)),
      plain(runs, (r) => timestamp(r.updatedAt)),
      plain(runs, (r) => timestamp(r.closedAt)),
      jsons(runs, (r) => r.limits),
      jsons(runs, (r) => r.taskCounts),
      jsons(runs, (r) => r.memory),
    ],
  };
}
