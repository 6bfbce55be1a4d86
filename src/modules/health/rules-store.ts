import { counted, countedIterations, LOG_READINGS, OF_LIMITS, TOKEN_KINDS } from './log-store.js';
import { EXAMPLES_MAX, type InvariantCode } from './types.js';

/** What the attempts of a task say together. */
const ATTEMPTS = `attempt_rows AS MATERIALIZED (
  SELECT a.task_id AS id, count(*) AS attempts, max(a.number) AS last, count(DISTINCT a.lease_token) AS tokens, max(a.lease_token) AS last_token,
    bool_or((a.outcome = 'in_progress') <> (t.state = 'in_progress' AND a.number = t.attempt)) AS is_wrongly_open,
    bool_or(a.number = t.attempt AND a.result IS NOT NULL) AS has_result,
    bool_or(a.number = t.attempt AND (a.verdict->>'approved')::boolean) AS is_approved
  FROM attempts a JOIN tasks t ON t.project_id = $1 AND t.id = a.task_id WHERE a.project_id = $1 GROUP BY a.task_id)`;

/** The trips of tasks and of runs that are not over. */
const OPEN_TRIPS = `open_trips AS MATERIALIZED (
  SELECT coalesce(task_id, run_id) AS id, count(*) AS trips, count(*) FILTER (WHERE state = 'open') AS open, max(id::text) AS trip
  FROM trips WHERE project_id = $1 AND scope IN ('task', 'run') AND state <> 'closed' GROUP BY coalesce(task_id, run_id))`;

/** Whom each open task waits for: what it depends on, or the last in the line of those that took its place. */
const WAITS = `waits AS MATERIALIZED (
  WITH RECURSIVE line(task_id, id) AS (
    SELECT id, unnest(depends_on) FROM tasks WHERE project_id = $1 AND finished_at IS NULL AND depends_on <> '{}'
    UNION
    SELECT line.task_id, d.superseded_by FROM line JOIN tasks d ON d.project_id = $1 AND d.id = line.id WHERE d.superseded_by IS NOT NULL)
  SELECT line.task_id AS id, count(*) FILTER (WHERE d.state <> 'done') AS unmet, bool_or(d.state = 'cancelled') AS in_vain,
    bool_or(d.state <> 'done' AND (e.task_id IS NULL OR NOT d.has_dependants)) AS is_unknown
  FROM line JOIN tasks d ON d.project_id = $1 AND d.id = line.id
    LEFT JOIN dependencies e ON e.project_id = $1 AND e.depends_on_id = d.id AND e.task_id = line.task_id
  WHERE d.superseded_by IS NULL GROUP BY line.task_id)`;

/** How many tasks of each run are in each state. */
const RUN_TASKS = `run_tasks AS MATERIALIZED (
  SELECT run_id AS id, jsonb_object_agg(state, tasks) AS counts FROM
    (SELECT run_id, state, count(*) AS tasks FROM tasks WHERE project_id = $1 GROUP BY run_id, state) s GROUP BY run_id)`;

const zero = (value: string): string => `coalesce(${value}, 0)`;
const isCounted = (column: string, log: string): string =>
  `t.${column} <> ${zero(`log.${log}`)} + ${zero(`carried.${log}`)}`;
const isReported = (column: string, log: string): string =>
  `t.${column} <> ${counted(`${zero(`log.${log}`)} + ${zero(`carried_usage.${log}`)}`)}`;

/** What an event states of its task's counters, each by the name that the task has it under. */
const STATED = [
  ...['attempt', 'rework_count', 'rework_total', 'error_count', 'error_total', 'review_failures'],
  ...['attempts_since_unblock', 'tokens_used', 'unblock_count', 'trip_count'],
];

/** When a task breaks an invariant, beside what the readings say of it. Null is no breach. */
const TASK_BREACHES = {
  event_numbers: 'log.events IS DISTINCT FROM t.event_number OR log.last IS DISTINCT FROM t.event_number',
  last_counters: [
    ...STATED.map((name) => `t.${name} <> (stated.counters->>'${name}')::numeric`),
    `t.cost_micros <> round((stated.counters->>'cost_usd')::numeric * 1000000)`,
  ].join(' OR '),
  rework_total: isCounted('rework_total', 'reworks'),
  error_total: isCounted('error_total', 'errors'),
  trip_count: isCounted('trip_count', 'trips'),
  unblock_count: isCounted('unblock_count', 'unblocks'),
  counters_within_totals: 't.rework_count > t.rework_total OR t.error_count > t.error_total',
  attempt_claims: `t.attempt <> ${zero('log.claims')}`,
  attempt_rows: `t.attempt <> ${zero('tried.attempts')} OR t.attempt <> ${zero('tried.last')}`,
  tokens: TOKEN_KINDS.map((kind) => isReported(`tokens_${kind}`, kind)).join(' OR '),
  tokens_used: `t.tokens_used <> ${counted(`CASE WHEN log.reset_at IS NULL
    THEN ${zero('log.fresh')} + ${zero('carried.fresh')} ELSE ${zero('fresh_usage.fresh')} END`)}`,
  cost: isReported('cost_micros', 'cost'),
  lease_state: `t.lease_kind = 'work' AND t.state <> 'in_progress' OR t.lease_kind = 'review' AND t.state <> 'in_review'
    OR t.lease_kind IS NULL AND t.state = 'in_progress'`,
  lease_tokens: `tried.tokens < tried.attempts OR tried.last_token > t.lease_token
    OR t.lease_kind = 'work' AND tried.last_token <> t.lease_token`,
  lease_end: `t.lease_kind IS NOT NULL AND t.due_at IS DISTINCT FROM t.lease_expires_at
    OR t.state IN ('pending', 'rework') AND t.unmet = 0 AND t.queue IS NULL AND t.due_at IS NULL`,
  attempt_open: 'tried.is_wrongly_open',
  result_kept: `t.state IN ('in_review', 'done') AND tried.has_result IS NOT TRUE`,
  verdict_kept: `(t.state = 'done') <> coalesce(tried.is_approved, false)`,
  approved_once: `${zero('log.approvals')} <> (t.state = 'done')::int`,
  limit_trip: `${zero('stopped.open')} <> (coalesce(t.block_kind, '') IN (${OF_LIMITS}))::int
    OR stopped.trip IS DISTINCT FROM t.open_trip_id::text`,
  unmet: `t.finished_at IS NULL AND t.unmet <> ${zero('waits.unmet')}`,
  dependants: 'waits.is_unknown',
  given_up: `waits.in_vain AND t.state <> 'blocked'`,
  queue: `t.queue IS NOT NULL AND (t.unmet > 0 OR t.lease_kind IS NOT NULL)
    OR t.queue IS NULL AND t.state = 'in_review' AND t.lease_kind IS NULL`,
} as const satisfies Partial<Record<InvariantCode, string>>;

/** Likewise of a run. */
const RUN_BREACHES = {
  run_trip: `${zero('stopped.trips')} <> (r.state = 'tripped')::int OR stopped.trip IS DISTINCT FROM r.open_trip_id::text`,
  run_history: 'r.trip_count <> log.trips OR r.recover_count <> log.recoveries',
  run_tasks: `coalesce((SELECT jsonb_object_agg(key, value) FROM jsonb_each(r.task_counts) WHERE value <> '0'), '{}')
    <> coalesce(run_tasks.counts, '{}')`,
  run_iterations: `r.iterations <> ${countedIterations('since.iterations')}`,
  run_usage: `r.tokens_used <> ${counted('since.fresh')} OR r.cost_micros <> ${counted('since.cost')}`,
} as const satisfies Partial<Record<InvariantCode, string>>;

/** What no single row shows: the objects that break an invariant. */
const OTHER_BREACHES = {
  log_gapless: `SELECT p.id FROM projects p, (SELECT count(*) AS events, coalesce(max(position), 0) AS last FROM facts) f
    WHERE p.id = $1 AND (f.events <> p.position OR f.last <> p.position)`,
  log_time:
    'SELECT id FROM (SELECT id, at, lag(at) OVER (ORDER BY position) AS before FROM facts) f WHERE before > at',
  event_order: `SELECT task_id FROM (SELECT task_id, position, lag(position) OVER (PARTITION BY task_id ORDER BY number) AS before
    FROM facts WHERE task_id IS NOT NULL) f WHERE before > position`,
  task_rows: `SELECT o.id FROM (SELECT id FROM task_log UNION SELECT task_id FROM attempts WHERE project_id = $1) o
    LEFT JOIN tasks t ON t.project_id = $1 AND t.id = o.id WHERE t.id IS NULL`,
  self_review: `SELECT a.task_id FROM attempts a JOIN attempts w ON w.project_id = $1 AND w.task_id = a.task_id
      AND w.agent_id::text = a.verdict->>'by' AND w.number <= a.number
    WHERE a.project_id = $1`,
} as const satisfies Partial<Record<InvariantCode, string>>;

/** The codes of the conditions that hold of a row, as an array. */
function namesOf(conditions: Readonly<Record<string, string>>): string {
  const names = Object.entries(conditions).map(
    ([code, condition]) => `CASE WHEN ${condition} THEN '${code}' END`,
  );
  return `array_remove(ARRAY[${names.join(',\n')}], NULL)`;
}

/**
 * What breaks which invariant in the project `$1`. Every table is read with the project in its condition. The rows of a table are
 * looked at once, for all that they could break. What the first event of a part states is not asked: in older logs it is zeros.
 */
const BREACHES: readonly string[] = [
  `SELECT unnest(b.rules) AS rule, b.id FROM (SELECT t.id, ${namesOf(TASK_BREACHES)} AS rules
    FROM tasks t LEFT JOIN task_log log ON log.id = t.id LEFT JOIN carried ON carried.id = t.id
      LEFT JOIN carried_usage ON carried_usage.id = t.id LEFT JOIN fresh_usage ON fresh_usage.id = t.id
      LEFT JOIN attempt_rows tried ON tried.id = t.id LEFT JOIN open_trips stopped ON stopped.id = t.id LEFT JOIN waits ON waits.id = t.id
      LEFT JOIN LATERAL (SELECT counters FROM events WHERE project_id = $1 AND task_id = t.id AND number = t.event_number
        AND NOT (number = 1 AND command = 'split') LIMIT 1) stated ON true
    WHERE t.project_id = $1) b`,
  `SELECT unnest(b.rules), b.id FROM (SELECT r.id, ${namesOf(RUN_BREACHES)} AS rules
    FROM runs r JOIN run_log log ON log.id = r.id JOIN run_count since ON since.id = r.id
      LEFT JOIN open_trips stopped ON stopped.id = r.id LEFT JOIN run_tasks ON run_tasks.id = r.id
    WHERE r.project_id = $1) b`,
  ...Object.entries(OTHER_BREACHES).map(([code, query]) => `SELECT '${code}', b.* FROM (${query}) b`),
];

/** How many objects break each invariant that is broken, with the first of them. */
export const CHECK = `WITH ${[...LOG_READINGS, ATTEMPTS, OPEN_TRIPS, WAITS, RUN_TASKS].join(',\n')}
SELECT rule, count(DISTINCT id)::float8 AS broken, (array_agg(DISTINCT id::text ORDER BY id::text))[1:${EXAMPLES_MAX}] AS examples
FROM (${BREACHES.join('\nUNION ALL\n')}) breaches GROUP BY rule`;
