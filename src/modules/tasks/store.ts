import {
  type Column,
  jsons,
  overColumns,
  plain,
  type Queryable,
  rowsOf,
  type Statement,
  texts,
  timestamp,
} from '../../db/statement.js';
import type { AttemptWrite } from './decide/draft.js';
import { placementOf } from './decide/machine.js';
import { type AttemptRow, attemptOf, type TaskRow, taskOf } from './rows.js';
import type { Attempt, ClaimPurpose, Task } from './types.js';

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

/** The first tasks in claim order of some runs, for work or for review. */
export async function loadQueue(
  db: Queryable,
  projectId: string,
  filter: {
    readonly purpose: ClaimPurpose;
    readonly runIds: readonly string[];
    readonly labels: readonly string[];
    readonly limit: number;
  },
): Promise<Task[]> {
  const rows = await rowsOf<TaskRow>(db, {
    name: 'tasks_queue',
    text: `SELECT q.* FROM unnest($2::uuid[]) AS r(run_id)
      CROSS JOIN LATERAL (
        SELECT ${TASK_COLUMNS}, rank FROM tasks
        WHERE project_id = $1 AND run_id = r.run_id AND queue = $3 AND labels @> $4::text[]
        ORDER BY rank, ready_at, id LIMIT $5
      ) q
      ORDER BY q.rank, q.ready_at, q.id LIMIT $5`,
    values: [projectId, filter.runIds, filter.purpose, filter.labels, filter.limit],
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

/**
 * Each row's place, looked up one by one. An UPDATE joined to an array by its key, planned while the table is small, scans the
 * table once for each element, and goes on to do so when it has grown; joined by place there is no such plan.
 */
const PLACE_OF_TASK = '(SELECT t.ctid FROM tasks t WHERE t.project_id = $1 AND t.id = u.id) AS place';
const PLACE_OF_ATTEMPT =
  '(SELECT a.ctid FROM attempts a WHERE a.project_id = $1 AND a.task_id = u.task_id AND a.number = u.number) AS place';

/** Writes tasks that are new, as they begin; `writeTasks` then writes their state. */
export function insertTasks(projectId: string, tasks: readonly Task[], now: number): Statement {
  return {
    name: 'tasks_insert',
    text: `INSERT INTO tasks (project_id, id, run_id, parent_id, supersedes, dedupe_key, title, description, acceptance, priority, labels,
        depends_on, limits, not_before, memory, created_at, state, rank, ready_at, updated_at)
      SELECT $1, u.id, u.run_id, u.parent_id, u.supersedes, u.dedupe_key, u.title, u.description, ${textList('u.acceptance')}, u.priority,
        ${textList('u.labels')}, ${textList('u.depends_on')}::uuid[], u.limits, u.not_before, '{}', $15, 'pending', 0, $15, $15
      FROM ROWS FROM (unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::int[], $10::timestamptz[]),
        jsonb_array_elements($11::jsonb), jsonb_array_elements($12::jsonb), jsonb_array_elements($13::jsonb), jsonb_array_elements($14::jsonb))
        AS u(id, run_id, parent_id, supersedes, dedupe_key, title, description, priority, not_before, acceptance, labels, depends_on, limits)`,
    values: [
      projectId,
      plain(tasks, (t) => t.id),
      plain(tasks, (t) => t.runId),
      plain(tasks, (t) => t.parentId),
      plain(tasks, (t) => t.supersedes),
      texts(tasks, (t) => t.dedupeKey),
      texts(tasks, (t) => t.title),
      texts(tasks, (t) => t.description),
      plain(tasks, (t) => t.priority),
      plain(tasks, (t) => timestamp(t.notBefore)),
      jsons(tasks, (t) => t.acceptance),
      jsons(tasks, (t) => t.labels),
      jsons(tasks, (t) => t.dependsOn),
      jsons(tasks, (t) => t.limits),
      timestamp(now),
    ],
  };
}

/** A list of texts that travels as JSON, because arrays of arrays must be of one length. */
function textList(column: string): string {
  return `ARRAY(SELECT jsonb_array_elements_text(${column}))`;
}

/** Writes what a planner changed of tasks that were there. */
export function editTasks(projectId: string, tasks: readonly Task[]): Statement {
  return {
    name: 'tasks_edit',
    text: `WITH u AS MATERIALIZED (SELECT u.*, ${PLACE_OF_TASK} FROM ROWS FROM (unnest($2::uuid[], $3::text[], $4::text[], $5::int[],
          $6::timestamptz[], $7::uuid[]), jsonb_array_elements($8::jsonb), jsonb_array_elements($9::jsonb), jsonb_array_elements($10::jsonb),
          jsonb_array_elements($11::jsonb))
        AS u(id, title, description, priority, not_before, superseded_by, acceptance, labels, depends_on, limits))
      UPDATE tasks t SET title = u.title, description = u.description, acceptance = ${textList('u.acceptance')}, priority = u.priority,
        labels = ${textList('u.labels')}, depends_on = ${textList('u.depends_on')}::uuid[], limits = u.limits, not_before = u.not_before,
        superseded_by = u.superseded_by
      FROM u WHERE t.ctid = u.place`,
    values: [
      projectId,
      plain(tasks, (t) => t.id),
      texts(tasks, (t) => t.title),
      texts(tasks, (t) => t.description),
      plain(tasks, (t) => t.priority),
      plain(tasks, (t) => timestamp(t.notBefore)),
      plain(tasks, (t) => t.supersededBy),
      jsons(tasks, (t) => t.acceptance),
      jsons(tasks, (t) => t.labels),
      jsons(tasks, (t) => t.dependsOn),
      jsons(tasks, (t) => t.limits),
    ],
  };
}

/** Writes the state of tasks: what transitions change. The one statement that writes `state` and counters. */
export function writeTasks(projectId: string, tasks: readonly Task[], now: number): Statement {
  const placed = tasks.map((task) => ({ ...placementOf(task, now), task }));
  return {
    ...WRITE_TASKS(tasks.length),
    values: [
      projectId,
      plain(tasks, (t) => t.id),
      texts(tasks, (t) => t.block?.reason ?? null),
      jsons(tasks, (t) => t.memory),
      jsons(tasks, (t) => t.feedback),
      ...STATE_COLUMNS.map(([, , cell]) => plain(placed, cell)),
    ],
  };
}

type Placed = ReturnType<typeof placementOf> & { readonly task: Task };

/** What a transition may change, beside the block's reason, the memory and the feedback: column, its type, and its value. */
const STATE_COLUMNS: readonly (readonly [
  string,
  string,
  (placed: Placed) => string | number | boolean | null,
])[] = [
  ['state', 'text', ({ task }) => task.state],
  ['queue', 'text', ({ queue }) => queue],
  ['rank', 'int', ({ rank }) => rank],
  ['ready_at', 'timestamptz', ({ task }) => timestamp(task.readyAt)],
  ['due_at', 'timestamptz', ({ dueAt }) => timestamp(dueAt)],
  ['block_kind', 'text', ({ task }) => task.block?.kind ?? null],
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
  ['unmet', 'int', ({ task }) => task.unmet],
  ['has_dependants', 'boolean', ({ task }) => task.hasDependants],
  ['version', 'int', ({ task }) => task.version],
  ['updated_at', 'timestamptz', ({ task }) => timestamp(task.updatedAt)],
  ['finished_at', 'timestamptz', ({ task }) => timestamp(task.finishedAt)],
];

const WRITE_TASKS = overColumns(
  'tasks_write',
  [
    ['id', 'uuid'],
    ['block_reason', 'text'],
    ['memory', 'json'],
    ['feedback', 'json'],
    ...STATE_COLUMNS.map(([name, type]): Column => [name, type]),
  ],
  (rows) => `WITH u AS MATERIALIZED (SELECT u.*, ${PLACE_OF_TASK} FROM ${rows})
  UPDATE tasks t SET ${STATE_COLUMNS.map(([name]) => `${name} = u.${name}`).join(', ')},
    block_reason = u.block_reason, memory = u.memory, feedback = coalesce(nullif(u.feedback, 'null'), t.feedback)
  FROM u WHERE t.ctid = u.place`,
);

/** Opens attempts: one row each, kept for ever. */
export function insertAttempts(projectId: string, attempts: readonly AttemptWrite[]): Statement {
  return {
    ...INSERT_ATTEMPTS(attempts.length),
    values: [
      projectId,
      ...attemptColumns(attempts),
      plain(attempts, (a) => a.agentId ?? null),
      plain(attempts, (a) => a.leaseToken ?? null),
      plain(attempts, (a) => a.sessionId ?? null),
      plain(attempts, (a) => timestamp(a.claimedAt ?? null)),
    ],
  };
}

/** Adds to attempts what became of them. What is absent stays; a verdict and a late result are kept as they first came. */
export function updateAttempts(projectId: string, attempts: readonly AttemptWrite[]): Statement {
  return {
    ...UPDATE_ATTEMPTS(attempts.length),
    values: [projectId, ...attemptColumns(attempts)],
  };
}

const WRITTEN_OF_ATTEMPT: readonly Column[] = [
  ['task_id', 'uuid'],
  ['number', 'int'],
  ['ended_at', 'timestamptz'],
  ['outcome', 'text'],
  ['result_hash', 'text'],
  ['result', 'json'],
  ['late_result', 'json'],
  ['error', 'json'],
  ['usage', 'json'],
  ['change', 'json'],
  ['verdict', 'json'],
];

const OPENED_WITH_ATTEMPT: readonly Column[] = [
  ['agent_id', 'uuid'],
  ['lease_token', 'int'],
  ['session_id', 'uuid'],
  ['claimed_at', 'timestamptz'],
];

const INSERT_ATTEMPTS = overColumns(
  'attempts_insert',
  [...WRITTEN_OF_ATTEMPT, ...OPENED_WITH_ATTEMPT],
  (
    rows,
  ) => `INSERT INTO attempts (project_id, task_id, number, agent_id, lease_token, session_id, claimed_at, ended_at, outcome, result_hash, result,
        late_result, error, usage, change, verdict)
      SELECT $1, u.task_id, u.number, u.agent_id, u.lease_token, u.session_id, u.claimed_at, u.ended_at, u.outcome, u.result_hash, nullif(u.result, 'null'),
        nullif(u.late_result, 'null'), nullif(u.error, 'null'), u.usage, nullif(u.change, 'null'), nullif(u.verdict, 'null')
      FROM ${rows}`,
);

const UPDATE_ATTEMPTS = overColumns(
  'attempts_update',
  WRITTEN_OF_ATTEMPT,
  (rows) => `WITH u AS MATERIALIZED (SELECT u.*, ${PLACE_OF_ATTEMPT} FROM ${rows})
      UPDATE attempts a SET ended_at = coalesce(a.ended_at, u.ended_at), outcome = coalesce(u.outcome, a.outcome),
        result_hash = coalesce(u.result_hash, a.result_hash), result = coalesce(nullif(u.result, 'null'), a.result),
        late_result = coalesce(a.late_result, nullif(u.late_result, 'null')), error = coalesce(nullif(u.error, 'null'), a.error),
        usage = coalesce(nullif(u.usage, 'null'), a.usage), change = coalesce(nullif(u.change, 'null'), a.change),
        verdict = coalesce(a.verdict, nullif(u.verdict, 'null'))
      FROM u WHERE a.ctid = u.place`,
);

function attemptColumns(attempts: readonly AttemptWrite[]): string[] {
  return [
    plain(attempts, (a) => a.taskId),
    plain(attempts, (a) => a.number),
    plain(attempts, (a) => timestamp(a.endedAt ?? null)),
    plain(attempts, (a) => a.outcome ?? null),
    plain(attempts, (a) => a.resultHash ?? null),
    jsons(attempts, (a) => a.result),
    jsons(attempts, (a) => a.lateResult),
    jsons(attempts, (a) => a.error),
    jsons(attempts, (a) => a.usage),
    jsons(attempts, (a) => a.change),
    jsons(attempts, (a) => a.verdict),
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
    values: [projectId, plain(edges, (e) => e.dependsOnId), plain(edges, (e) => e.taskId)],
  };
}

/** Forgets that some tasks wait for others. */
export function deleteEdges(projectId: string, edges: readonly Edge[]): Statement {
  return {
    name: 'dependencies_delete',
    text: `DELETE FROM dependencies WHERE ctid = ANY(ARRAY(SELECT d.ctid FROM unnest($2::uuid[], $3::uuid[]) AS u(depends_on_id, task_id)
      CROSS JOIN LATERAL (SELECT ctid FROM dependencies
        WHERE project_id = $1 AND depends_on_id = u.depends_on_id AND task_id = u.task_id OFFSET 0) d))`,
    values: [projectId, plain(edges, (e) => e.dependsOnId), plain(edges, (e) => e.taskId)],
  };
}
