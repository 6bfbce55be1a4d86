import { TASK_LAYERS } from '../guard/types.js';

/** What blocks a task when a limit does. */
export const OF_LIMITS = TASK_LAYERS.map((kind) => `'${kind}'`).join(', ');

/** No counter goes above these: a number of the wire, and the database's column of iterations. */
const COUNT_MAX = Number.MAX_SAFE_INTEGER;
const ITERATIONS_MAX = 2_147_483_647;

/** A sum as a counter holds it, that is full when it is full. */
export const counted = (sum: string, most = COUNT_MAX): string => `least(${sum}, ${most})`;
export const countedIterations = (sum: string): string => counted(sum, ITERATIONS_MAX);

/** What a report of usage counts, and how it is read from one: the kinds of tokens, those that are new work, and millionths of a dollar. */
export const TOKEN_KINDS = ['input', 'output', 'cache_read', 'cache_write'] as const;
const reported = (kind: string): string => `(usage->'tokens'->>'${kind}')::numeric`;
const REPORTED = [
  ...TOKEN_KINDS.map((kind) => [kind, reported(kind)] as const),
  ['fresh', ['input', 'output', 'cache_write'].map(reported).join(' + ')] as const,
  ['cost', `round((usage->>'cost_usd')::numeric * 1000000)`] as const,
];
const SUMS = REPORTED.map(([name]) => `coalesce(sum(f.${name}), 0) AS ${name}`).join(', ');

/**
 * The project's log, each event once, and of its data only what counts. What follows reads this and not the table: the log is
 * the one thing that is large, and it is read once.
 */
const FACTS = `facts AS MATERIALIZED (
  SELECT position, id, at, type, task_id, number, run_id,
    type = 'task.lease_expired' OR type = 'task.failed' AND data->>'counted' = 'true' AS is_error,
    type = 'trip.opened' AND data->>'reopened' = 'false' AS is_trip,
    type = 'task.unblocked' AND data->>'was' IN (${OF_LIMITS}) AS is_unblock,
    type = 'trip.resolved' AND data->>'strategy' = 'terminate' AS is_end,
    type IN ('task.unblocked', 'run.recovered') AND data->'changes' ? 'reset_tokens' AS is_reset,
    ${REPORTED.map(([name, value]) => `${value} AS ${name}`).join(', ')},
    (usage->>'iterations')::numeric AS iterations
  FROM events CROSS JOIN LATERAL (SELECT data->'usage' AS usage OFFSET 0) u
  WHERE project_id = $1)`;

/** The counters that a task had when the one at hand was made. */
function lastBefore(task: string): string {
  return `SELECT counters FROM events WHERE project_id = $1 AND task_id = ${task} AND position < l.created_at ORDER BY number DESC LIMIT 1`;
}

/** What the log says of each task. */
const TASK_LOG = `task_log AS MATERIALIZED (
  SELECT f.task_id AS id, count(*) AS events, max(f.number) AS last, min(f.position) AS created_at,
    count(*) FILTER (WHERE f.type = 'task.claimed') AS claims,
    count(*) FILTER (WHERE f.type = 'task.rework_requested') AS reworks,
    count(*) FILTER (WHERE f.is_error) AS errors,
    count(*) FILTER (WHERE f.is_trip) AS trips,
    count(*) FILTER (WHERE f.is_unblock) AS unblocks,
    coalesce(bool_or(f.is_end), false) AS gave_up,
    count(*) FILTER (WHERE f.type = 'task.approved') AS approvals,
    max(f.position) FILTER (WHERE f.type = 'task.approved') AS approved_at,
    min(f.position) FILTER (WHERE f.type = 'task.submitted') AS submitted_at,
    max(f.position) FILTER (WHERE f.is_reset) AS reset_at,
    ${SUMS}
  FROM facts f WHERE f.task_id IS NOT NULL GROUP BY f.task_id)`;

/**
 * What a task carried over from the one it came from: the counters of that one when the new one was made. A part comes from the
 * task that was taken apart, and was unblocked as often as that one was then; what replaces a task comes from that one, and counts the trip that it
 * was given up under.
 */
const CARRIED = `carried AS MATERIALIZED (
  SELECT t.id, t.supersedes, l.created_at, (o.counters->>'rework_total')::numeric AS reworks,
    (o.counters->>'error_total')::numeric AS errors, (o.counters->>'trip_count')::numeric AS trips,
    CASE WHEN o.is_whole THEN (a.counters->>'unblock_count')::numeric ELSE (o.counters->>'unblock_count')::numeric + p.gave_up::int END AS unblocks,
    (r.counters->>'tokens_used')::numeric AS fresh
  FROM tasks t
    JOIN task_log l ON l.id = t.id
    LEFT JOIN task_log p ON p.id = t.supersedes
    LEFT JOIN LATERAL (${lastBefore('t.supersedes')}) r ON true
    CROSS JOIN LATERAL (SELECT command = 'split' AS is_part FROM events WHERE project_id = $1 AND task_id = t.id AND number = 1 LIMIT 1) c
    LEFT JOIN LATERAL (SELECT counters FROM events WHERE project_id = $1 AND task_id = t.parent_id AND type = 'task.unblocked'
      AND position > l.created_at ORDER BY number LIMIT 1) a ON c.is_part
    CROSS JOIN LATERAL (SELECT w.counters, true AS is_whole FROM (${lastBefore('t.parent_id')}) w WHERE c.is_part
      UNION ALL SELECT r.counters, false WHERE NOT c.is_part AND r.counters IS NOT NULL) o
  WHERE t.project_id = $1 AND (t.supersedes IS NOT NULL OR t.parent_id IS NOT NULL))`;

/** What was reported on each task's predecessors, on each until it was replaced. */
const CARRIED_USAGE = `carried_usage AS MATERIALIZED (
  WITH RECURSIVE line(id, before, until) AS (
    SELECT id, supersedes, created_at FROM carried WHERE supersedes IS NOT NULL
    UNION ALL
    SELECT line.id, c.supersedes, c.created_at FROM line JOIN carried c ON c.id = line.before WHERE c.supersedes IS NOT NULL)
  SELECT line.id, ${SUMS}
  FROM line JOIN facts f ON f.task_id = line.before AND f.position < line.until AND f.fresh IS NOT NULL
  GROUP BY line.id)`;

/** What was reported on a task since its tokens were last reset. */
const FRESH_USAGE = `fresh_usage AS MATERIALIZED (
  SELECT f.task_id AS id, sum(f.fresh) AS fresh FROM facts f JOIN task_log l ON l.id = f.task_id
  WHERE f.position > l.reset_at GROUP BY f.task_id)`;

/** The turning points of each run. `ended_at`: from there on no progress begins its count anew. */
const RUN_LOG = `run_log AS MATERIALIZED (
  SELECT id, trips, recoveries, recovered_at, reset_at,
    least(CASE WHEN tripped_at > recovered_at THEN tripped_at END, closed_at) AS ended_at
  FROM (SELECT r.id, count(*) FILTER (WHERE f.type = 'run.tripped') AS trips,
      count(*) FILTER (WHERE f.type = 'run.recovered') AS recoveries,
      coalesce(max(f.position) FILTER (WHERE f.type = 'run.recovered'), 0) AS recovered_at,
      coalesce(max(f.position) FILTER (WHERE f.is_reset), 0) AS reset_at,
      max(f.position) FILTER (WHERE f.type = 'run.tripped') AS tripped_at,
      max(f.position) FILTER (WHERE f.type = 'run.closed') AS closed_at
    FROM runs r LEFT JOIN facts f ON f.run_id = r.id AND f.task_id IS NULL
    WHERE r.project_id = $1 GROUP BY r.id) f)`;

/** From where on a run counts its iterations: its last recovery, or in the other mode its last progress. */
const RUN_BEGINNING = `run_beginning AS MATERIALIZED (
  SELECT r.id, l.reset_at, greatest(l.recovered_at, max(p.position)) AS began_at
  FROM runs r JOIN run_log l ON l.id = r.id
    LEFT JOIN (SELECT t.run_id, unnest(ARRAY[k.submitted_at, k.approved_at]) AS position
      FROM tasks t JOIN task_log k ON k.id = t.id WHERE t.project_id = $1) p
    ON r.iteration_mode = 'since_progress' AND p.run_id = r.id AND p.position < coalesce(l.ended_at, p.position + 1)
  WHERE r.project_id = $1 GROUP BY r.id, l.reset_at, l.recovered_at)`;

/** What was started and reported in each run since. */
const RUN_COUNT = `run_count AS MATERIALIZED (
  SELECT b.id, count(*) FILTER (WHERE f.type = 'task.claimed' AND f.position > b.began_at)
      + coalesce(sum(f.iterations) FILTER (WHERE f.position > b.began_at), 0) AS iterations,
    coalesce(sum(f.fresh) FILTER (WHERE f.position > b.reset_at), 0) AS fresh,
    coalesce(sum(f.cost) FILTER (WHERE f.position > b.reset_at), 0) AS cost
  FROM run_beginning b LEFT JOIN facts f ON f.run_id = b.id AND f.task_id IS NOT NULL
  GROUP BY b.id)`;

/** What the log says, by task and by run. Each is made once, and reads those before it. */
export const LOG_READINGS = [
  ...[FACTS, TASK_LOG, CARRIED, CARRIED_USAGE, FRESH_USAGE],
  ...[RUN_LOG, RUN_BEGINNING, RUN_COUNT],
];
