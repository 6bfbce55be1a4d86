import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/kernel/ids.js';
import { someNewTask } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { type Processes, startProcesses } from '../../support/processes.js';

let db: Processes;
/** One task in each of three states, by the pipeline. */
const ids = { pending: newId(), in_progress: newId(), in_review: newId() };
beforeAll(async () => {
  db = await startProcesses();
  const planner = await db.agent('planner');
  const executor = await db.agent('executor');
  const tasks = Object.values(ids).map((id) => someNewTask({ id }));
  await db.one.send(planner, { type: 'create', tasks, run: null, plan: true });
  for (const id of [ids.in_progress, ids.in_review]) await db.one.send(executor, commandsOn(id, 1).claim);
  await db.one.send(executor, commandsOn(ids.in_review, 1).submit);
});
afterAll(() => db.close());

/** The constraint, or the error code, that a statement fails on. */
async function failureOf(statement: string): Promise<string | null> {
  try {
    await db.pool.query(statement);
    return null;
  } catch (error) {
    if (typeof error !== 'object' || error === null) return 'unknown';
    const constraint: unknown = Reflect.get(error, 'constraint');
    return String(constraint ?? Reflect.get(error, 'code'));
  }
}

const LEASE = `lease_kind = 'work', lease_agent = id, lease_seconds = 1, lease_started_at = now(), lease_expires_at = now()`;

describe('the database refuses a task', () => {
  it.each([
    ['of a state that there is not', 'pending', `state = 'paused', queue = NULL`, 'tasks_state_check'],
    [
      'in progress without a lease',
      'pending',
      `state = 'in_progress', queue = NULL`,
      'tasks_lease_state_check',
    ],
    ['waiting with a lease', 'pending', LEASE, 'tasks_lease_state_check'],
    ['in review with a lease to work', 'in_review', LEASE, 'tasks_lease_state_check'],
    ['with half a lease', 'in_progress', 'lease_expires_at = NULL', 'tasks_lease_check'],
    ['with no lease while in progress', 'in_progress', 'lease_kind = NULL', 'tasks_lease'],
    ['blocked by nothing', 'pending', `state = 'blocked', queue = NULL`, 'tasks_block_check'],
    ['blocked and not blocked', 'pending', `block_kind = 'other'`, 'tasks_block_check'],
    ['done at no time', 'pending', `state = 'done', queue = NULL`, 'tasks_finished_check'],
    ['finished and open', 'pending', 'finished_at = now()', 'tasks_finished_check'],
    ['with a counter below nothing', 'pending', 'rework_count = -1', 'tasks_counters_check'],
    ['with a total below its counter', 'pending', 'rework_count = 1', 'tasks_counters_check'],
    ['with errors above their total', 'pending', 'error_count = 1', 'tasks_counters_check'],
    ['with tokens below nothing', 'pending', 'tokens_used = -1', 'tasks_counters_check'],
    ['that waits for fewer than none', 'pending', 'unmet = -1', 'tasks_counters_check'],
    ['of a priority that there is not', 'pending', 'priority = 10', 'tasks_priority_check'],
    ['queued for review while pending', 'pending', `queue = 'review'`, 'tasks_queue_check'],
    ['queued for work while in progress', 'in_progress', `queue = 'work'`, 'tasks_queue_check'],
    ['of a run that is not there', 'pending', 'run_id = id', 'tasks_project_id_run_id_fkey'],
  ] as const)('%s', async (_name, state, change, constraint) => {
    const failure = await failureOf(`UPDATE tasks SET ${change} WHERE id = '${ids[state]}'`);
    expect(failure).toContain(constraint);
  });
});

describe('the database refuses', () => {
  it.each([
    ['an attempt that ended and goes on', 'UPDATE attempts SET ended_at = NULL', 'attempts_ended_check'],
    [
      'an outcome that there is not',
      `UPDATE attempts SET outcome = 'lost', ended_at = now()`,
      'attempts_outcome_check',
    ],
    ['a verdict on no result', `UPDATE attempts SET verdict = '{}', result = NULL`, 'attempts_verdict_check'],
    ['a run with iterations below nothing', 'UPDATE runs SET iterations = -1', 'runs_counters_check'],
    ['a run of a state that there is not', `UPDATE runs SET state = 'paused'`, 'runs_state_check'],
    ['a second default run', 'INSERT INTO runs SELECT (r).* FROM (SELECT r FROM runs r) x', 'runs_pkey'],
    [
      'an event of no task with a number',
      `INSERT INTO events SELECT (e).* FROM (SELECT e FROM events e LIMIT 1) x`,
      'events_pkey',
    ],
  ])('%s', async (_name, statement, constraint) => {
    expect(await failureOf(statement)).toBe(constraint);
  });

  it('two tasks that hold one dedupe key', async () => {
    const failure = await failureOf(`UPDATE tasks SET dedupe_key = 'both'`);
    expect(failure).toBe('tasks_dedupe_idx');
  });

  it('two open trips of one task', async () => {
    const trip = (kind: string) =>
      `INSERT INTO trips SELECT project_id, gen_random_uuid(), 'task', '${kind}', id, run_id, 1, 1, 0, 'MEDIUM', 'x', 'open', '[]', now() FROM tasks WHERE id = '${ids.pending}'`;
    expect(await failureOf(trip('rework'))).toBeNull();
    expect(await failureOf(trip('error'))).toBe('trips_open_task_idx');
    expect(await failureOf('DELETE FROM trips')).toBeNull();
  });
});

describe('the log and the history of attempts', () => {
  it.each([
    'UPDATE events SET reason = NULL',
    'DELETE FROM events',
    'TRUNCATE events',
    'DELETE FROM attempts',
    'TRUNCATE attempts',
  ])('refuse %s', async (statement) => {
    expect(await failureOf(statement)).toBe('FB002');
  });

  it('are not touched by any of it', async () => {
    expect(await db.audit()).toEqual({});
  });
});

it('a commit over a revision that has passed is refused whole', async () => {
  const { rows } = await db.pool.query<{ id: string; revision: number }>('SELECT id, revision FROM projects');
  const [{ id, revision } = { id: '', revision: 0 }] = rows;
  expect(await failureOf(`SELECT advance_project('${id}', ${revision - 1}, 1)`)).toBe('FB001');
  const after = await db.pool.query('SELECT revision FROM projects');
  expect(after.rows).toEqual([{ revision }]);
});
