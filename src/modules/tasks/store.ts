import { column, json, type Queryable, rowsOf, type Statement, timestamp } from '../../db/statement.js';
import type { AttemptWrite } from './decide/draft.js';
import { placementOf } from './decide/machine.js';
import { attemptOf, type AttemptRow, taskOf, type TaskRow } from './rows.js';
import type { Attempt, ClaimPurpose, Task } from './types.js';

const COLUMNS = `id, project_id, run_id, parent_id, supersedes, superseded_by, dedupe_key, title, description, acceptance,
  priority, labels, depends_on, unmet, has_dependants, limits, not_before, state, ready_at, block_kind, block_reason,
  claimed_by, lease_kind, lease_agent, lease_token, lease_seconds, lease_started_at, lease_expires_at, attempt, rework_count,
  rework_total, error_count, error_total, review_failures, attempts_since_unblock, tokens_used, tokens_input, tokens_output,
  tokens_cache_read, tokens_cache_write, cost_micros, unblock_count, trip_count, event_number, memory, feedback, version,
  created_at, updated_at, finished_at`;

const ATTEMPT_COLUMNS = `task_id, number, agent_id, lease_token, claimed_at, ended_at, outcome, result, result_hash, late_result,
  error, usage, change, verdict`;

/** Tasks by id; those that are not there are left out. */
export async function loadTasks(db: Queryable, projectId: string, ids: readonly string[]): Promise<Task[]> {
  const rows = await rowsOf<TaskRow>(db, {
    name: 'tasks_by_id',
    text: `SELECT ${COLUMNS} FROM tasks WHERE project_id = $1 AND id = ANY($2::uuid[])`,
    values: [projectId, ids],
  });
  return rows.map(taskOf);
}

/** The first tasks in claim order of some runs, for work or for review. */
export async function loadQueue(
  db: Queryable,
  projectId: string,
  filter: { readonly purpose: ClaimPurpose; readonly runIds: readonly string[]; readonly labels: readonly string[]; readonly limit: number },
): Promise<Task[]> {
  const rows = await rowsOf<TaskRow>(db, {
    name: 'tasks_queue',
    text: `SELECT q.* FROM unnest($2::uuid[]) AS r(run_id)
      CROSS JOIN LATERAL (
        SELECT ${COLUMNS}, rank FROM tasks
        WHERE project_id = $1 AND run_id = r.run_id AND queue = $3 AND labels @> $4::text[]
        ORDER BY rank, ready_at, id LIMIT $5
      ) q
      ORDER BY q.rank, q.ready_at, q.id LIMIT $5`,
    values: [projectId, filter.runIds, filter.purpose, filter.labels, filter.limit],
  });
  return rows.map(taskOf);
}

/** For each task, those that wait for it. */
export async function loadDependants(db: Queryable, projectId: string, ids: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await rowsOf<{ depends_on_id: string; task_id: string }>(db, {
    name: 'tasks_dependants',
    text: 'SELECT depends_on_id, task_id FROM dependencies WHERE project_id = $1 AND depends_on_id = ANY($2::uuid[])',
    values: [projectId, ids],
  });
  const found = new Map<string, string[]>();
  for (const row of rows) found.set(row.depends_on_id, [...(found.get(row.depends_on_id) ?? []), row.task_id]);
  return found;
}

/** Every task that a chain of dependencies leads to from some tasks, by the task it leads from. */
export async function loadReachable(db: Queryable, projectId: string, from: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await rowsOf<{ id: string; depends_on: string[] }>(db, {
    name: 'tasks_reachable',
    text: `WITH RECURSIVE reachable(id) AS (
        SELECT unnest($2::uuid[])
        UNION
        SELECT unnest(t.depends_on) FROM reachable r JOIN tasks t ON t.project_id = $1 AND t.id = r.id
      )
      SELECT t.id, t.depends_on FROM reachable r JOIN tasks t ON t.project_id = $1 AND t.id = r.id`,
    values: [projectId, from],
  });
  return new Map(rows.map((row) => [row.id, row.depends_on]));
}

/** Attempts by task and lease token, or by task and number. */
export async function loadAttempts(
  db: Queryable,
  projectId: string,
  wanted: readonly { readonly taskId: string; readonly token: number | null; readonly number: number | null }[],
): Promise<Attempt[]> {
  const rows = await rowsOf<AttemptRow>(db, {
    name: 'attempts_wanted',
    text: `SELECT ${ATTEMPT_COLUMNS.replace(/(\w+)/g, 'a.$1')} FROM unnest($2::uuid[], $3::int[], $4::int[]) AS w(task_id, token, number)
      JOIN attempts a ON a.project_id = $1 AND a.task_id = w.task_id AND (a.lease_token = w.token OR a.number = w.number)`,
    values: [projectId, column(wanted, (w) => w.taskId), column(wanted, (w) => w.token), column(wanted, (w) => w.number)],
  });
  return rows.map(attemptOf);
}

/** The open task, if any, that holds each dedupe key. */
export async function loadDedupeHolders(db: Queryable, projectId: string, keys: readonly string[]): Promise<Task[]> {
  const rows = await rowsOf<TaskRow>(db, {
    name: 'tasks_dedupe',
    text: `SELECT ${COLUMNS} FROM tasks WHERE project_id = $1 AND dedupe_key = ANY($2::text[]) AND state <> 'done' AND superseded_by IS NULL`,
    values: [projectId, keys],
  });
  return rows.map(taskOf);
}

/** What the server must look at by itself, over all projects: leases past their end and tasks whose time has come. */
export async function loadDue(
  db: Queryable,
  offsetMs: number,
  limit: number,
): Promise<{ due: { projectId: string; taskId: string; leaseToken: number | null }[]; nextInMs: number | null }> {
  const rows = await rowsOf<{ project_id: string; id: string; lease_token: number | null; in_ms: number }>(db, {
    name: 'tasks_due',
    text: `SELECT project_id, id, CASE WHEN lease_kind IS NULL THEN NULL ELSE lease_token END AS lease_token,
        (extract(epoch FROM due_at - clock_timestamp()) * 1000 - $1)::float8 AS in_ms
      FROM tasks WHERE due_at IS NOT NULL ORDER BY due_at LIMIT $2`,
    values: [offsetMs, limit],
  });
  const due = rows.filter((row) => row.in_ms <= 0);
  const next = rows.find((row) => row.in_ms > 0);
  return {
    due: due.map((row) => ({ projectId: row.project_id, taskId: row.id, leaseToken: row.lease_token })),
    nextInMs: next?.in_ms ?? null,
  };
}

/** Writes tasks that are new. */
export function insertTasks(projectId: string, tasks: readonly Task[], now: number): Statement {
  return {
    name: 'tasks_insert',
    text: `INSERT INTO tasks (project_id, id, run_id, parent_id, supersedes, dedupe_key, title, description, acceptance, priority, labels,
        depends_on, limits, not_before, created_at, state, rank, ready_at, updated_at)
      SELECT $1, u.id, u.run_id, u.parent_id, u.supersedes, u.dedupe_key, u.title, u.description,
        ARRAY(SELECT jsonb_array_elements_text(u.acceptance)), u.priority, ARRAY(SELECT jsonb_array_elements_text(u.labels)),
        ARRAY(SELECT jsonb_array_elements_text(u.depends_on)::uuid), u.limits, u.not_before, u.created_at, 'pending', 0, u.created_at, u.created_at
      FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::jsonb[], $10::int[],
        $11::jsonb[], $12::jsonb[], $13::jsonb[], $14::timestamptz[], $15::timestamptz[])
        AS u(id, run_id, parent_id, supersedes, dedupe_key, title, description, acceptance, priority, labels, depends_on, limits, not_before, created_at)`,
    values: [
      projectId,
      column(tasks, (t) => t.id),
      column(tasks, (t) => t.runId),
      column(tasks, (t) => t.parentId),
      column(tasks, (t) => t.supersedes),
      column(tasks, (t) => t.dedupeKey),
      column(tasks, (t) => t.title),
      column(tasks, (t) => t.description),
      column(tasks, (t) => json(t.acceptance)),
      column(tasks, (t) => t.priority),
      column(tasks, (t) => json(t.labels)),
      column(tasks, (t) => json(t.dependsOn)),
      column(tasks, (t) => json(t.limits)),
      column(tasks, (t) => timestamp(t.notBefore)),
      column(tasks, () => timestamp(now)),
    ],
  };
}

/** Writes what a planner changed of tasks that were there. */
export function editTasks(projectId: string, tasks: readonly Task[]): Statement {
  return {
    name: 'tasks_edit',
    text: `UPDATE tasks t SET title = u.title, description = u.description, acceptance = ARRAY(SELECT jsonb_array_elements_text(u.acceptance)),
        priority = u.priority, labels = ARRAY(SELECT jsonb_array_elements_text(u.labels)),
        depends_on = ARRAY(SELECT jsonb_array_elements_text(u.depends_on)::uuid), limits = u.limits, not_before = u.not_before,
        superseded_by = u.superseded_by
      FROM unnest($2::uuid[], $3::text[], $4::text[], $5::jsonb[], $6::int[], $7::jsonb[], $8::jsonb[], $9::jsonb[], $10::timestamptz[], $11::uuid[])
        AS u(id, title, description, acceptance, priority, labels, depends_on, limits, not_before, superseded_by)
      WHERE t.project_id = $1 AND t.id = u.id`,
    values: [
      projectId,
      column(tasks, (t) => t.id),
      column(tasks, (t) => t.title),
      column(tasks, (t) => t.description),
      column(tasks, (t) => json(t.acceptance)),
      column(tasks, (t) => t.priority),
      column(tasks, (t) => json(t.labels)),
      column(tasks, (t) => json(t.dependsOn)),
      column(tasks, (t) => json(t.limits)),
      column(tasks, (t) => timestamp(t.notBefore)),
      column(tasks, (t) => t.supersededBy),
    ],
  };
}

/** Writes the state of tasks: what transitions change. The one statement that writes `state` and counters. */
export function writeTasks(projectId: string, tasks: readonly Task[], now: number): Statement {
  const placed = tasks.map((task) => ({ ...placementOf(task, now), task }));
  const { text, values } = WRITE_TASKS;
  return { name: 'tasks_write', text, values: [projectId, column(tasks, (t) => t.id), ...values.map((cell) => column(placed, cell))] };
}

type Placed = ReturnType<typeof placementOf> & { readonly task: Task };

/** Column, its type in SQL, and how it is read from a task. */
const STATE_COLUMNS: readonly (readonly [string, string, (placed: Placed) => string | number | boolean | null])[] = [
  ['state', 'text', ({ task }) => task.state],
  ['queue', 'text', ({ queue }) => queue],
  ['rank', 'int', ({ rank }) => rank],
  ['ready_at', 'timestamptz', ({ task }) => timestamp(task.readyAt)],
  ['due_at', 'timestamptz', ({ dueAt }) => timestamp(dueAt)],
  ['block_kind', 'text', ({ task }) => task.block?.kind ?? null],
  ['block_reason', 'text', ({ task }) => task.block?.reason ?? null],
  ['claimed_by', 'uuid', ({ task }) => task.claimedBy],
  ['lease_kind', 'text', ({ task }) => task.lease?.kind ?? null],
  ['lease_agent', 'uuid', ({ task }) => task.lease?.agentId ?? null],
  ['lease_token', 'int', ({ task }) => task.leaseToken],
  ['lease_seconds', 'int', ({ task }) => task.lease?.seconds ?? null],
  ['lease_started_at', 'timestamptz', ({ task }) => timestamp(task.lease?.startedAt ?? null)],
  ['lease_expires_at', 'timestamptz', ({ task }) => timestamp(task.lease?.expiresAt ?? null)],
  ['attempt', 'int', ({ task }) => task.attempt],
  ['rework_count', 'int', ({ task }) => task.counters.reworkCount],
  ['rework_total', 'int', ({ task }) => task.counters.reworkTotal],
  ['error_count', 'int', ({ task }) => task.counters.errorCount],
  ['error_total', 'int', ({ task }) => task.counters.errorTotal],
  ['review_failures', 'int', ({ task }) => task.counters.reviewFailures],
  ['attempts_since_unblock', 'int', ({ task }) => task.counters.attemptsSinceUnblock],
  ['tokens_used', 'bigint', ({ task }) => task.counters.tokensUsed],
  ['tokens_input', 'bigint', ({ task }) => task.counters.tokens.input],
  ['tokens_output', 'bigint', ({ task }) => task.counters.tokens.output],
  ['tokens_cache_read', 'bigint', ({ task }) => task.counters.tokens.cacheRead],
  ['tokens_cache_write', 'bigint', ({ task }) => task.counters.tokens.cacheWrite],
  ['cost_micros', 'bigint', ({ task }) => task.counters.costMicros],
  ['unblock_count', 'int', ({ task }) => task.counters.unblockCount],
  ['trip_count', 'int', ({ task }) => task.counters.tripCount],
  ['open_trip_id', 'uuid', ({ task }) => task.memory.trip?.id ?? null],
  ['event_number', 'int', ({ task }) => task.eventNumber],
  ['memory', 'jsonb', ({ task }) => json(task.memory)],
  ['unmet', 'int', ({ task }) => task.unmet],
  ['has_dependants', 'boolean', ({ task }) => task.hasDependants],
  ['version', 'int', ({ task }) => task.version],
  ['updated_at', 'timestamptz', ({ task }) => timestamp(task.updatedAt)],
  ['finished_at', 'timestamptz', ({ task }) => timestamp(task.finishedAt)],
];

const WRITE_TASKS = {
  text: `UPDATE tasks t SET ${STATE_COLUMNS.map(([name]) => `${name} = u.${name}`).join(', ')},
      feedback = coalesce(u.feedback, t.feedback)
    FROM unnest($2::uuid[], ${STATE_COLUMNS.map(([, type], i) => `$${i + 3}::${type}[]`).join(', ')}, $${STATE_COLUMNS.length + 3}::jsonb[])
      AS u(id, ${STATE_COLUMNS.map(([name]) => name).join(', ')}, feedback)
    WHERE t.project_id = $1 AND t.id = u.id`,
  values: [
    ...STATE_COLUMNS.map(([, , cell]) => cell),
    ({ task }: Placed) => (task.feedback === null ? null : json(task.feedback)),
  ],
};

/** Opens attempts: one row each, kept for ever. */
export function insertAttempts(projectId: string, attempts: readonly AttemptWrite[]): Statement {
  return {
    name: 'attempts_insert',
    text: `INSERT INTO attempts (project_id, task_id, number, agent_id, lease_token, claimed_at, ended_at, outcome, result, result_hash,
        late_result, error, usage, change, verdict)
      SELECT $1, * FROM unnest($2::uuid[], $3::int[], $4::uuid[], $5::int[], $6::timestamptz[], $7::timestamptz[], $8::text[], $9::jsonb[],
        $10::text[], $11::jsonb[], $12::jsonb[], $13::jsonb[], $14::jsonb[], $15::jsonb[])`,
    values: [
      projectId,
      column(attempts, (a) => a.taskId),
      column(attempts, (a) => a.number),
      column(attempts, (a) => a.agentId ?? null),
      column(attempts, (a) => a.leaseToken ?? null),
      column(attempts, (a) => timestamp(a.claimedAt ?? null)),
      ...attemptColumns(attempts),
    ],
  };
}

/** Adds to attempts what became of them. What is absent stays; a verdict and a late result are kept as they first came. */
export function updateAttempts(projectId: string, attempts: readonly AttemptWrite[]): Statement {
  return {
    name: 'attempts_update',
    text: `UPDATE attempts a SET ended_at = coalesce(a.ended_at, u.ended_at), outcome = coalesce(u.outcome, a.outcome),
        result = coalesce(u.result, a.result), result_hash = coalesce(u.result_hash, a.result_hash),
        late_result = coalesce(a.late_result, u.late_result), error = coalesce(u.error, a.error), usage = coalesce(u.usage, a.usage),
        change = coalesce(u.change, a.change), verdict = coalesce(a.verdict, u.verdict)
      FROM unnest($2::uuid[], $3::int[], $4::timestamptz[], $5::text[], $6::jsonb[], $7::text[], $8::jsonb[], $9::jsonb[], $10::jsonb[],
        $11::jsonb[], $12::jsonb[])
        AS u(task_id, number, ended_at, outcome, result, result_hash, late_result, error, usage, change, verdict)
      WHERE a.project_id = $1 AND a.task_id = u.task_id AND a.number = u.number`,
    values: [projectId, column(attempts, (a) => a.taskId), column(attempts, (a) => a.number), ...attemptColumns(attempts)],
  };
}

function attemptColumns(attempts: readonly AttemptWrite[]): string[] {
  const optional = (value: unknown) => (value === undefined || value === null ? null : json(value));
  return [
    column(attempts, (a) => timestamp(a.endedAt ?? null)),
    column(attempts, (a) => a.outcome ?? null),
    column(attempts, (a) => optional(a.result)),
    column(attempts, (a) => a.resultHash ?? null),
    column(attempts, (a) => optional(a.lateResult)),
    column(attempts, (a) => optional(a.error)),
    column(attempts, (a) => optional(a.usage)),
    column(attempts, (a) => optional(a.change)),
    column(attempts, (a) => optional(a.verdict)),
  ];
}

interface Edge {
  readonly taskId: string;
  readonly dependsOnId: string;
}

/** Writes who waits for whom. */
export function insertEdges(projectId: string, edges: readonly Edge[]): Statement {
  return {
    name: 'dependencies_insert',
    text: `INSERT INTO dependencies (project_id, depends_on_id, task_id) SELECT $1, * FROM unnest($2::uuid[], $3::uuid[]) ON CONFLICT DO NOTHING`,
    values: [projectId, column(edges, (e) => e.dependsOnId), column(edges, (e) => e.taskId)],
  };
}

/** Forgets that some tasks wait for others. */
export function deleteEdges(projectId: string, edges: readonly Edge[]): Statement {
  return {
    name: 'dependencies_delete',
    text: `DELETE FROM dependencies d USING unnest($2::uuid[], $3::uuid[]) AS u(depends_on_id, task_id)
      WHERE d.project_id = $1 AND d.depends_on_id = u.depends_on_id AND d.task_id = u.task_id`,
    values: [projectId, column(edges, (e) => e.dependsOnId), column(edges, (e) => e.taskId)],
  };
}
