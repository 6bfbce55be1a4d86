import type { InvariantCode } from '../../../src/modules/health/types.js';
import type { Board } from './board.js';

/** A way to damage a board: what it is, whom it hits, and the statements; `:hit` stands for whom. */
export interface Damage {
  readonly what: string;
  readonly hits: keyof Board;
  readonly by: readonly string[];
}

function on(hits: Damage['hits'], what: string, ...by: string[]): Damage {
  return { hits, what, by };
}

const LAST_EVENT =
  'task_id = :hit AND number = (SELECT max(number) FROM events x WHERE x.task_id = events.task_id)';
const LAST_ATTEMPT = 'task_id = :hit AND number = (SELECT attempt FROM tasks WHERE id = :hit)';

const set = (table: 'tasks' | 'runs', changes: string): string =>
  `UPDATE ${table} SET ${changes} WHERE id = :hit`;
const restate = (name: string, value: string): string =>
  `UPDATE events SET counters = jsonb_set(counters, '{${name}}', ${value}) WHERE ${LAST_EVENT}`;

/** A task's counter is one more in its row, and in what its last event states of it. */
function oneMore(column: string, hits: Damage['hits']): Damage {
  const stated = restate(column, `to_jsonb((counters->>'${column}')::int + 1)`);
  return on(hits, `${column} of ${hits} is one too many`, set('tasks', `${column} = ${column} + 1`), stated);
}

/** A run knows again how many of its tasks are in each state. */
const RECOUNT = `UPDATE runs SET task_counts = (SELECT jsonb_object_agg(state, n) FROM
  (SELECT state, count(*) AS n FROM tasks WHERE run_id = runs.id GROUP BY state) s) WHERE task_counts <> '{}'`;

const TRIP = '(SELECT open_trip_id FROM tasks WHERE id = :hit)';

/** For each invariant, damage that breaks it and no other. */
export const DAMAGES: Readonly<Record<InvariantCode, readonly Damage[]>> = {
  log_gapless: [
    on(
      'project',
      'the project is ahead of its log',
      'UPDATE projects SET position = position + 1 WHERE id = :hit',
    ),
  ],
  log_time: [
    on('event', 'an event is of yesterday', `UPDATE events SET at = at - interval '1 day' WHERE id = :hit`),
  ],
  event_numbers: [
    on('done', 'a task knows of one event more', set('tasks', 'event_number = event_number + 1')),
  ],
  event_order: [
    on(
      'edited',
      'two events have changed their numbers',
      'UPDATE events SET number = -number WHERE task_id = :hit AND number > 1',
      'UPDATE events SET number = 5 + number WHERE task_id = :hit AND number < 0',
    ),
  ],
  task_rows: [
    on(
      'stranger',
      'an attempt is of a task that is not there',
      `INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('task_id', :hit))).* FROM attempts a
        WHERE outcome = 'submitted' LIMIT 1`,
    ),
    on('lonely', 'a task is gone', 'DELETE FROM tasks WHERE id = :hit', RECOUNT),
  ],
  last_counters: [on('done', 'a counter was set by hand', set('tasks', 'review_failures = 1'))],
  rework_total: [
    oneMore('rework_total', 'done'),
    oneMore('rework_total', 'successor'),
    oneMore('rework_total', 'part'),
  ],
  error_total: [
    oneMore('error_total', 'done'),
    oneMore('error_total', 'successor'),
    oneMore('error_total', 'failed'),
  ],
  trip_count: [oneMore('trip_count', 'done'), oneMore('trip_count', 'part')],
  unblock_count: [
    oneMore('unblock_count', 'done'),
    oneMore('unblock_count', 'part'),
    oneMore('unblock_count', 'successor'),
    oneMore('unblock_count', 'heir'),
  ],
  counters_within_totals: [
    on(
      'done',
      'it was sent back more often than ever',
      set('tasks', 'rework_count = rework_total + 1'),
      restate('rework_count', `to_jsonb((counters->>'rework_total')::int + 1)`),
    ),
  ],
  attempt_claims: [
    on(
      'done',
      'a claim is not in the log',
      `UPDATE events SET type = 'task.updated' WHERE task_id = :hit AND type = 'task.claimed' AND number < 4`,
    ),
  ],
  attempt_rows: [
    on('done', 'an attempt was deleted', 'DELETE FROM attempts WHERE task_id = :hit AND number = 1'),
  ],
  tokens: [
    on('done', 'read from a cache by nobody', set('tasks', 'tokens_cache_read = tokens_cache_read + 1')),
    on('successor', 'a late report counts on both', set('tasks', 'tokens_input = tokens_input + 7')),
  ],
  tokens_used: [
    oneMore('tokens_used', 'done'),
    oneMore('tokens_used', 'successor'),
    oneMore('tokens_used', 'relieved'),
  ],
  cost: [
    on(
      'done',
      'spent on nothing',
      set('tasks', 'cost_micros = cost_micros + 1'),
      restate('cost_usd', `to_jsonb((counters->>'cost_usd')::numeric + 0.000001)`),
    ),
    on(
      'successor',
      'what the old one cost is forgotten',
      set('tasks', 'cost_micros = 0'),
      restate('cost_usd', `'0'`),
    ),
  ],
  lease_state: [
    on(
      'edited',
      'a waiting task has a lease',
      set(
        'tasks',
        `lease_kind = 'review', lease_agent = id, lease_seconds = 1, lease_started_at = now(), lease_expires_at = now(),
          due_at = now(), queue = NULL`,
      ),
    ),
  ],
  lease_tokens: [
    on('done', 'two attempts have one token', 'UPDATE attempts SET lease_token = 1 WHERE task_id = :hit'),
    on('underWay', 'an older lease holds', set('tasks', 'lease_token = lease_token + 1')),
  ],
  lease_end: [on('underWay', 'nobody looks when the lease ends', set('tasks', 'due_at = NULL'))],
  attempt_open: [
    on(
      'done',
      'an attempt never ended',
      `UPDATE attempts SET outcome = 'in_progress', ended_at = NULL WHERE task_id = :hit AND number = 1`,
    ),
  ],
  result_kept: [
    on('reviewed', 'its result is gone', `UPDATE attempts SET result = NULL WHERE ${LAST_ATTEMPT}`),
  ],
  verdict_kept: [
    on(
      'done',
      'the verdict was turned',
      `UPDATE attempts SET verdict = jsonb_set(verdict, '{approved}', 'false') WHERE ${LAST_ATTEMPT}`,
    ),
  ],
  approved_once: [
    on(
      'done',
      'it was approved twice',
      `UPDATE events SET type = 'task.approved' WHERE task_id = :hit AND type = 'task.usage_reported'`,
    ),
  ],
  self_review: [
    on(
      'done',
      'its executor approved it',
      `UPDATE attempts SET verdict = jsonb_set(verdict, '{by}', to_jsonb(agent_id)) WHERE ${LAST_ATTEMPT}`,
    ),
  ],
  limit_trip: [
    on('blocked', 'its trip is half over', `UPDATE trips SET state = 'half_open' WHERE id = ${TRIP}`),
    on('blocked', 'it names another trip', set('tasks', 'open_trip_id = id')),
  ],
  run_trip: [on('tripped', 'it goes on under its trip', set('runs', `state = 'open'`))],
  run_history: [on('counted', 'it recovered from nothing', set('runs', 'recover_count = 1'))],
  run_tasks: [on('counted', 'it has a task too many', set('runs', `task_counts = '{"in_review": 2}'`))],
  run_iterations: [
    on('counted', 'it started once more', set('runs', 'iterations = iterations + 1')),
    on('usual', 'an old start counts again', set('runs', 'iterations = iterations + 1')),
    on('recovered', 'its recovery is forgotten', set('runs', 'iterations = iterations + 1')),
  ],
  run_usage: [
    on('counted', 'its tokens are fewer', set('runs', 'tokens_used = tokens_used - 1')),
    on('recovered', 'its cost is more', set('runs', 'cost_micros = cost_micros + 1')),
  ],
  unmet: [on('waiting', 'it waits for one task more', set('tasks', 'unmet = 2'))],
  dependants: [
    on('waiting', 'nobody will wake it', 'DELETE FROM dependencies WHERE task_id = :hit'),
    on(
      'waiting',
      'nobody looks whether it waits',
      'UPDATE tasks SET has_dependants = false WHERE id = (SELECT depends_on[1] FROM tasks WHERE id = :hit)',
    ),
  ],
  given_up: [
    on(
      'stranded',
      'it waits as if there were hope',
      set('tasks', `state = 'pending', block_kind = NULL, block_reason = NULL`),
      RECOUNT,
    ),
  ],
  queue: [on('reviewed', 'nobody is offered it', set('tasks', 'queue = NULL'))],
};
