import { plain, type Queryable, rowsOf } from '../../db/statement.js';
import { type AttemptRow, attemptOf, type TaskRow, taskOf } from './rows.js';
import type { Attempt, Task } from './types.js';

export const TASK_COLUMNS = `id, project_id, run_id, parent_id, supersedes, superseded_by, dedupe_key, title, description, acceptance,
  priority, labels, depends_on, unmet, has_dependants, limits, not_before, state, ready_at, block_kind, block_reason,
  claimed_by, lease_kind, lease_agent, lease_token, lease_seconds, lease_started_at, lease_expires_at, attempt, rework_count,
  rework_total, error_count, error_total, review_failures, attempts_since_unblock, tokens_used, tokens_input, tokens_output,
  tokens_cache_read, tokens_cache_write, cost_micros, unblock_count, trip_count, event_number, memory, feedback, version,
  created_at, updated_at, finished_at`;

export const ATTEMPT_COLUMNS = `task_id, number, agent_id, lease_token, session_id, claimed_at, ended_at, outcome, result, result_hash, late_result,
  error, usage, change, verdict`;

/** Tasks by id; those that are not there are left out. */
export async function loadTasks(db: Queryable, projectId: string, ids: readonly string[]): Promise<Task[]> {
  const rows = await rowsOf<TaskRow>(db, {
    name: 'tasks_by_id',
    text: `SELECT ${TASK_COLUMNS} FROM tasks WHERE project_id = $1 AND id = ANY($2::uuid[])`,
    values: [projectId, ids],
  });
  return rows.map(taskOf);
}

/** For each task, those that wait for it. */
export async function loadDependants(
  db: Queryable,
  projectId: string,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await rowsOf<{ depends_on_id: string; task_id: string }>(db, {
    name: 'tasks_dependants',
    text: 'SELECT depends_on_id, task_id FROM dependencies WHERE project_id = $1 AND depends_on_id = ANY($2::uuid[])',
    values: [projectId, ids],
  });
  const found = new Map<string, string[]>();
  for (const row of rows)
    found.set(row.depends_on_id, [...(found.get(row.depends_on_id) ?? []), row.task_id]);
  return found;
}

/** What a task waits for: its dependencies, or the task in its place. */
const WAITS_FOR = 'CASE WHEN t.superseded_by IS NULL THEN t.depends_on ELSE ARRAY[t.superseded_by] END';

/** Every task that a chain of waiting leads to from some tasks, with what it waits for. */
export async function loadReachable(
  db: Queryable,
  projectId: string,
  from: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await rowsOf<{ id: string; waits_for: string[] }>(db, {
    name: 'tasks_reachable',
    text: `WITH RECURSIVE reachable(id) AS (
        SELECT unnest($2::uuid[])
        UNION
        SELECT unnest(${WAITS_FOR}) FROM reachable r JOIN tasks t ON t.project_id = $1 AND t.id = r.id
      )
      SELECT t.id, ${WAITS_FOR} AS waits_for FROM reachable r JOIN tasks t ON t.project_id = $1 AND t.id = r.id`,
    values: [projectId, from],
  });
  return new Map(rows.map((row) => [row.id, row.waits_for]));
}

/** Attempts by task and lease token, or by task and number. */
export async function loadAttempts(
  db: Queryable,
  projectId: string,
  wanted: readonly {
    readonly taskId: string;
    readonly token: number | null;
    readonly number: number | null;
  }[],
): Promise<Attempt[]> {
  const rows = await rowsOf<AttemptRow>(db, {
    name: 'attempts_wanted',
    text: `SELECT a.* FROM unnest($2::uuid[], $3::int[], $4::int[]) AS w(task_id, token, number)
      CROSS JOIN LATERAL (SELECT ${ATTEMPT_COLUMNS} FROM attempts
        WHERE project_id = $1 AND task_id = w.task_id AND (lease_token = w.token OR attempts.number = w.number) OFFSET 0) a`,
    values: [
      projectId,
      plain(wanted, (w) => w.taskId),
      plain(wanted, (w) => w.token),
      plain(wanted, (w) => w.number),
    ],
  });
  return rows.map(attemptOf);
}

/** The open task, if any, that holds each dedupe key. */
export async function loadDedupeHolders(
  db: Queryable,
  projectId: string,
  keys: readonly string[],
): Promise<Task[]> {
  const rows = await rowsOf<TaskRow>(db, {
    name: 'tasks_dedupe',
    text: `SELECT ${TASK_COLUMNS} FROM tasks WHERE project_id = $1 AND dedupe_key = ANY($2::text[]) AND state <> 'done' AND superseded_by IS NULL`,
    values: [projectId, keys],
  });
  return rows.map(taskOf);
}

/** What the server must look at by itself, over all projects: leases past their end and tasks whose time has come. */
export async function loadDue(
  db: Queryable,
  offsetMs: number,
  limit: number,
): Promise<{
  due: { projectId: string; taskId: string; leaseToken: number | null }[];
  nextInMs: number | null;
}> {
  const rows = await rowsOf<{ project_id: string; id: string; lease_token: number | null; in_ms: number }>(
    db,
    {
      name: 'tasks_due',
      text: `SELECT project_id, id, CASE WHEN lease_kind IS NULL THEN NULL ELSE lease_token END AS lease_token,
        (extract(epoch FROM due_at - clock_timestamp()) * 1000 - $1)::float8 AS in_ms
      FROM tasks WHERE due_at IS NOT NULL ORDER BY due_at LIMIT $2`,
      values: [offsetMs, limit],
    },
  );
  const due = rows.filter((row) => row.in_ms <= 0);
  const next = rows.find((row) => row.in_ms > 0);
  return {
    due: due.map((row) => ({ projectId: row.project_id, taskId: row.id, leaseToken: row.lease_token })),
    nextInMs: next?.in_ms ?? null,
  };
}
