import {
  type Column,
  jsons,
  overColumns,
  plain,
  type Statement,
  texts,
  timestamp,
} from '../../../db/statement.js';
import { placementOf } from '../decide/machine.js';
import type { Task } from '../types.js';

/**
 * Each row's place, looked up one by one. An UPDATE joined to an array by its key, planned while the table is small, scans the
 * table once for each element, and goes on to do so when it has grown; joined by place there is no such plan.
 */
const PLACE_OF_TASK = '(SELECT t.ctid FROM tasks t WHERE t.project_id = $1 AND t.id = u.id) AS place';

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
