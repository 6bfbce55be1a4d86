import type pg from 'pg';
import { SOAK } from './soak.js';

/** What must hold over every row and the whole log, whatever was sent: each query answers the rows that break it. */
const RULES: Readonly<Record<string, string>> = {
  'positions of a project are 1, 2, 3 … up to its own': `SELECT p.id FROM projects p LEFT JOIN events e ON e.project_id = p.id
    GROUP BY p.id HAVING count(e.position) <> p.position OR coalesce(max(e.position), 0) <> p.position`,
  'the numbers of a task’s events are 1, 2, 3 … up to its own': `SELECT t.id FROM tasks t LEFT JOIN events e ON e.project_id = t.project_id
    AND e.task_id = t.id GROUP BY t.id, t.event_number HAVING count(e.number) <> t.event_number OR coalesce(max(e.number), 0) <> t.event_number`,
  'events of a task stand in the log in the order of their numbers': `SELECT id FROM (SELECT id, position, lag(position) OVER (PARTITION BY
    project_id, task_id ORDER BY number) AS before FROM events WHERE task_id IS NOT NULL) e WHERE before > position`,
  'time never runs back in the log': `SELECT id FROM (SELECT id, at, lag(at) OVER (PARTITION BY project_id ORDER BY position) AS before FROM events) e
    WHERE before > at`,
  'rework_total is the number of reworks in the log': totalIs(
    'rework_total',
    `e.type = 'task.rework_requested'`,
  ),
  'error_total is the number of counted errors in the log': totalIs(
    'error_total',
    `(e.type = 'task.lease_expired' OR (e.type = 'task.failed' AND e.data->>'counted' = 'true'))`,
  ),
  'trip_count is the number of trips in the log': totalIs(
    'trip_count',
    `e.type = 'trip.opened' AND e.data->>'reopened' = 'false'`,
  ),
  'attempt is the number of work claims in the log': `SELECT t.id FROM tasks t LEFT JOIN events e ON e.project_id = t.project_id AND e.task_id = t.id
    AND e.type = 'task.claimed' GROUP BY t.id, t.attempt HAVING count(e.id) <> t.attempt`,
  'attempt is the number of attempt rows': `SELECT t.id FROM tasks t LEFT JOIN attempts a ON a.project_id = t.project_id AND a.task_id = t.id
    GROUP BY t.id, t.attempt HAVING count(a.number) <> t.attempt OR coalesce(max(a.number), 0) <> t.attempt`,
  'the tokens of a task are those of its reports in the log': `SELECT t.id FROM tasks t WHERE t.supersedes IS NULL AND t.parent_id IS NULL AND t.tokens_input + t.tokens_output <> (
    SELECT coalesce(sum((e.data->'usage'->'tokens'->>'input')::bigint + (e.data->'usage'->'tokens'->>'output')::bigint), 0) FROM events e
    WHERE e.project_id = t.project_id AND e.task_id = t.id AND e.data ? 'usage')`,
  'counters never pass their totals': `SELECT id FROM tasks WHERE rework_count > rework_total OR error_count > error_total`,
  'a task has a lease only while it is worked on or reviewed': `SELECT id FROM tasks WHERE lease_kind IS NOT NULL AND state <>
    CASE lease_kind WHEN 'work' THEN 'in_progress' ELSE 'in_review' END OR state = 'in_progress' AND lease_kind IS NULL`,
  'only the attempt under way is in progress': `SELECT a.task_id FROM attempts a JOIN tasks t ON t.project_id = a.project_id AND t.id = a.task_id
    WHERE (a.outcome = 'in_progress') <> (t.state = 'in_progress' AND a.number = t.attempt)`,
  'a task in review or done has a result': `SELECT t.id FROM tasks t JOIN attempts a ON a.project_id = t.project_id AND a.task_id = t.id
    AND a.number = t.attempt WHERE t.state IN ('in_review', 'done') AND a.result IS NULL`,
  'a verdict approved is a task done, by somebody who had not worked on it': `SELECT t.id FROM tasks t JOIN attempts a ON a.project_id = t.project_id
    AND a.task_id = t.id AND a.number = t.attempt WHERE (t.state = 'done') <> coalesce((a.verdict->>'approved')::boolean, false)
    UNION SELECT a.task_id FROM attempts a JOIN attempts w ON w.project_id = a.project_id AND w.task_id = a.task_id
      AND w.agent_id::text = a.verdict->>'by' AND w.number <= a.number`,
  'blocked by a limit is one open trip, and nothing else is': `SELECT t.id FROM tasks t LEFT JOIN trips o ON o.project_id = t.project_id AND o.task_id = t.id
    AND o.scope = 'task' AND o.state <> 'closed' GROUP BY t.id, t.state, t.block_kind, t.open_trip_id
    HAVING count(o.id) FILTER (WHERE o.state = 'open') <> (coalesce(t.block_kind, '') IN ('token', 'cost', 'error', 'rework', 'review', 'attempt'))::int
      OR coalesce(max(o.id::text), '') <> coalesce(t.open_trip_id::text, '')`,
  'a run is tripped while it has an open trip': `SELECT r.id FROM runs r LEFT JOIN trips o ON o.project_id = r.project_id AND o.run_id = r.id
    AND o.scope = 'run' AND o.state <> 'closed' GROUP BY r.id, r.state, r.open_trip_id
    HAVING count(o.id) <> (r.state = 'tripped')::int OR coalesce(max(o.id::text), '') <> coalesce(r.open_trip_id::text, '')`,
  'a run knows how many of its tasks are in each state': `SELECT r.id FROM runs r LEFT JOIN LATERAL (SELECT jsonb_object_agg(state, n) AS counts FROM
    (SELECT state, count(*) AS n FROM tasks t WHERE t.project_id = r.project_id AND t.run_id = r.id GROUP BY state) s) c ON true
    WHERE coalesce((SELECT jsonb_object_agg(key, value) FROM jsonb_each(r.task_counts) WHERE value <> '0'), '{}') <> coalesce(c.counts, '{}')`,
  'a run in total mode counts every claim and every reported iteration': `SELECT r.id FROM runs r WHERE r.iteration_mode = 'total' AND r.recover_count = 0 AND r.iterations <> (
    SELECT count(*) FILTER (WHERE e.type = 'task.claimed') + coalesce(sum((e.data->'usage'->>'iterations')::int), 0) FROM events e
    WHERE e.project_id = r.project_id AND e.run_id = r.id)`,
  'a task waits for as many as are not done': `SELECT t.id FROM tasks t WHERE t.finished_at IS NULL AND t.unmet <> (WITH RECURSIVE stand(id) AS (
    SELECT unnest(t.depends_on) UNION SELECT d.superseded_by FROM stand s JOIN tasks d ON d.project_id = t.project_id AND d.id = s.id
      WHERE d.superseded_by IS NOT NULL)
    SELECT count(*) FROM stand s JOIN tasks d ON d.project_id = t.project_id AND d.id = s.id WHERE d.superseded_by IS NULL AND d.state <> 'done')`,
  'no task waits for one that was given up, unless it is blocked': `SELECT t.id FROM tasks t JOIN tasks d ON d.project_id = t.project_id
    AND d.id = ANY(t.depends_on) WHERE d.state = 'cancelled' AND d.superseded_by IS NULL AND t.state NOT IN ('blocked', 'done', 'cancelled')`,
  'what is in a queue can be claimed': `SELECT id FROM tasks WHERE queue IS NOT NULL AND (unmet > 0 OR lease_kind IS NOT NULL)
    OR queue IS NULL AND state = 'in_review' AND lease_kind IS NULL`,
};

function totalIs(column: string, counted: string): string {
  return `SELECT t.id FROM tasks t LEFT JOIN events e ON e.project_id = t.project_id AND e.task_id = t.id AND ${counted}
    WHERE t.supersedes IS NULL AND t.parent_id IS NULL GROUP BY t.id, t.${column} HAVING count(e.id) <> t.${column}`;
}

/** Holds every row of a database against the rules of the domain; answers the rules that are broken, each with its rows. */
export async function audit(pool: pg.Pool): Promise<Record<string, string[]>> {
  const broken: Record<string, string[]> = {};
  // Many rows are read by plans that know of them.
  if (SOAK > 1) await pool.query('ANALYZE');
  for (const [rule, query] of Object.entries(RULES)) {
    const { rows } = await pool.query({ text: query, rowMode: 'array' });
    if (rows.length > 0) broken[rule] = rows.map(([id]) => String(id));
  }
  return broken;
}
