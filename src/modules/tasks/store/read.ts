import { type Queryable, rowsOf } from '../../../db/statement.js';
import { type AttemptRow, attemptOf, type TaskRow, taskOf } from '../rows.js';
import { ATTEMPT_COLUMNS, TASK_COLUMNS } from '../store.js';
import type { Attempt, ClaimPurpose, Task, TaskState } from '../types.js';

/** Which tasks a list shows. */
export interface TaskFilter {
  readonly state?: TaskState;
  readonly runId?: string;
  readonly label?: string;
  readonly agentId?: string;
  readonly parentId?: string;
  readonly text?: string;
  readonly updatedSince?: number;
}

/** A page of tasks, newest first, with one more than asked when there are more. */
export async function listTasks(
  db: Queryable,
  projectId: string,
  filter: TaskFilter,
  page: { readonly limit: number; readonly after: string | null },
): Promise<Task[]> {
  const values: unknown[] = [projectId, page.limit + 1];
  const names: string[] = [];
  const conditions = ['project_id = $1'];
  const add = (name: string, value: unknown, condition: (parameter: string) => string) => {
    if (value === undefined || value === null) return;
    values.push(value);
    names.push(name);
    conditions.push(condition(`$${values.length}`));
  };
  add('after', page.after, (p) => `id < ${p}::uuid`);
  if (filter.state !== undefined && filter.state !== 'done' && filter.state !== 'cancelled')
    conditions.push('finished_at IS NULL');
  add('state', filter.state, (p) => `state = ${p}`);
  add('run', filter.runId, (p) => `run_id = ${p}::uuid`);
  add('label', filter.label, (p) => `${p}::text = ANY(labels)`);
  add('agent', filter.agentId, (p) => `(claimed_by = ${p}::uuid OR lease_agent = ${p}::uuid)`);
  add('parent', filter.parentId, (p) => `parent_id = ${p}::uuid`);
  add('text', filter.text, (p) => `strpos(lower(title || E'\\n' || description), lower(${p}::text)) > 0`);
  add(
    'since',
    filter.updatedSince === undefined ? undefined : new Date(filter.updatedSince),
    (p) => `updated_at >= ${p}::timestamptz`,
  );
  const rows = await rowsOf<TaskRow>(db, {
    name: `tasks_list_${conditions.includes('finished_at IS NULL') ? 'open_' : ''}${names.join('_')}`,
    text: `SELECT ${TASK_COLUMNS} FROM tasks WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT $2`,
    values,
  });
  return rows.map(taskOf);
}

/** The attempts of a task, first to last. */
export async function listAttempts(db: Queryable, projectId: string, taskId: string): Promise<Attempt[]> {
  const rows = await rowsOf<AttemptRow>(db, {
    name: 'attempts_of_task',
    text: `SELECT ${ATTEMPT_COLUMNS} FROM attempts WHERE project_id = $1 AND task_id = $2 ORDER BY number`,
    values: [projectId, taskId],
  });
  return rows.map(attemptOf);
}

/** A page of a task's attempts, first to last, with one more than asked when there are more. */
export async function pageOfAttempts(
  db: Queryable,
  projectId: string,
  taskId: string,
  page: { readonly limit: number; readonly after: number },
): Promise<Attempt[]> {
  const rows = await rowsOf<AttemptRow>(db, {
    name: 'attempts_page',
    text: `SELECT ${ATTEMPT_COLUMNS} FROM attempts WHERE project_id = $1 AND task_id = $2 AND number > $3 ORDER BY number LIMIT $4`,
    values: [projectId, taskId, page.after, page.limit + 1],
  });
  return rows.map(attemptOf);
}

/** How many open tasks stand where, and what keeps each from one agent. */
export interface ClaimableCounts {
  readonly claimable: number;
  readonly in_progress: number;
  readonly in_review: number;
  readonly blocked: number;
  readonly run_tripped: number;
  readonly run_closed: number;
  readonly dependencies: number;
  readonly not_before: number;
  readonly excluded: number;
  readonly self_review: number;
  readonly under_review: number;
  /** In review, and every reviewer of the project has worked on it: only an operator can judge it. */
  readonly no_reviewer_left: number;
  readonly next_ready_at: Date | null;
  readonly counted: number;
}

/** How many open tasks are looked at: enough to say whether there is work, bounded however many wait. */
export const CLAIMABLE_LOOKED_AT = 10_000;

/** What one agent could claim now, and why the rest not. */
export async function countClaimable(
  db: Queryable,
  projectId: string,
  agentId: string,
  purpose: ClaimPurpose,
): Promise<ClaimableCounts> {
  const rows = await rowsOf<ClaimableCounts & Record<string, unknown>>(db, {
    name: `tasks_claimable_${purpose}`,
    text: purpose === 'work' ? WORK_COUNTS : REVIEW_COUNTS,
    values: [projectId, agentId, CLAIMABLE_LOOKED_AT],
  });
  const [counts] = rows;
  if (counts === undefined) throw new Error('an aggregate without a row');
  return counts;
}

const LOOKED_AT = `WITH looked AS (
    SELECT t.state, t.queue, t.unmet, t.ready_at, t.lease_kind, t.memory, r.state AS run_state
    FROM (SELECT * FROM tasks WHERE project_id = $1 AND finished_at IS NULL LIMIT $3) t
    JOIN runs r ON r.project_id = $1 AND r.id = t.run_id
  )`;

const COMMON = `count(*) FILTER (WHERE state = 'in_progress')::int AS in_progress,
    count(*) FILTER (WHERE state = 'in_review')::int AS in_review,
    count(*) FILTER (WHERE state = 'blocked')::int AS blocked,
    count(*)::int AS counted`;

const WAITS = `state IN ('pending', 'rework')`;
const KEPT_OUT = `(memory->'excluded' ? $2::text OR coalesce(memory->>'assigned' <> $2::text, false))`;

const WORK_COUNTS = `${LOOKED_AT}
  SELECT count(*) FILTER (WHERE queue = 'work' AND run_state = 'open' AND NOT ${KEPT_OUT})::int AS claimable,
    count(*) FILTER (WHERE ${WAITS} AND run_state = 'tripped')::int AS run_tripped,
    count(*) FILTER (WHERE ${WAITS} AND run_state = 'closed')::int AS run_closed,
    count(*) FILTER (WHERE ${WAITS} AND unmet > 0)::int AS dependencies,
    count(*) FILTER (WHERE ${WAITS} AND unmet = 0 AND queue IS NULL)::int AS not_before,
    count(*) FILTER (WHERE ${WAITS} AND ${KEPT_OUT})::int AS excluded,
    0 AS self_review, 0 AS under_review, 0 AS no_reviewer_left,
    min(ready_at) FILTER (WHERE ${WAITS} AND unmet = 0 AND queue IS NULL) AS next_ready_at,
    ${COMMON}
  FROM looked`;

const REVIEW_COUNTS = `${LOOKED_AT}
  SELECT count(*) FILTER (WHERE queue = 'review' AND NOT memory->'workers' ? $2::text)::int AS claimable,
    0 AS run_tripped, 0 AS run_closed, 0 AS dependencies, 0 AS not_before, 0 AS excluded,
    count(*) FILTER (WHERE state = 'in_review' AND memory->'workers' ? $2::text)::int AS self_review,
    count(*) FILTER (WHERE state = 'in_review' AND lease_kind = 'review')::int AS under_review,
    count(*) FILTER (WHERE state = 'in_review' AND memory->'workers' ?& (
      SELECT coalesce(array_agg(id::text), '{}') FROM agents WHERE project_id = $1 AND 'reviewer' = ANY(roles)))::int AS no_reviewer_left,
    NULL::timestamptz AS next_ready_at,
    ${COMMON}
  FROM looked`;
