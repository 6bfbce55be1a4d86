import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/kernel/ids.js';
import { loadQueue, type QueueSlice } from '../../../src/modules/tasks/store/queue.js';
import type { Place } from '../../../src/modules/tasks/windows.js';
import { someNewTask } from '../../support/builders.js';
import { type Processes, startProcesses } from '../../support/processes.js';

const RUNS = 40;
const TASKS = 1_200;

let db: Processes;
let projectId: string;
let excluded: string;
let runIds: string[];
beforeAll(async () => {
  db = await startProcesses();
  const planner = await db.agent('planner');
  excluded = (await db.agent('executor')).agentId;
  ({ projectId } = planner);
  await db.one.send(planner, {
    type: 'create',
    tasks: [someNewTask({ id: newId() })],
    run: null,
    plan: false,
  });
  await db.pool.query('CREATE TABLE template AS SELECT * FROM tasks');
  const others = await namesOf('runs', 'id', 'is_default');
  const { rows } = await db.pool.query<{ id: string }>(
    `INSERT INTO runs (id, is_default, ${others}) SELECT gen_random_uuid(), false, ${others}
      FROM runs, generate_series(1, $1::int) WHERE is_default RETURNING id`,
    [RUNS],
  );
  runIds = rows.map(({ id }) => id);
});
afterAll(() => db.close());

/** The columns of a table, but for some. */
async function namesOf(table: string, ...without: string[]): Promise<string> {
  const { rows } = await db.pool.query<{ names: string }>(
    `SELECT string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = $1 AND NOT column_name = ANY($2)`,
    [table, without],
  );
  return rows[0]?.names ?? '';
}

/** How tasks may lie in runs: the n-th one's run, its place in a list. */
const LAYOUTS = {
  'by turns': `n % ${RUNS}`,
  'one run after another': `n / ${TASKS / RUNS + 1}`,
  'sixteen in one run after another': `least(n / 16, ${RUNS - 1})`,
  'nearly all in one': `CASE WHEN n % 100 = 0 THEN n / 100 ELSE 0 END`,
  'at random': `abs(hashint4(n)) % ${RUNS}`,
  'first one in each run, then all in one': `least(n, ${RUNS - 1})`,
};

/** Tasks with times in the order of their numbers; every other one is kept from one agent. Some come after all others. */
async function lay(run: string): Promise<void> {
  const others = await namesOf('tasks', 'id', 'run_id', 'ready_at', 'priority', 'rank', 'memory');
  await db.pool.query('TRUNCATE tasks');
  const late = '(CASE WHEN n > 300 AND n % 97 > 89 THEN 1 ELSE 0 END)';
  await db.pool.query(
    `INSERT INTO tasks (id, run_id, ready_at, priority, rank, memory, ${others})
      SELECT gen_random_uuid(), ($1::uuid[])[1 + ${run}], ready_at + n / 3 * interval '1 ms', ${late}, ${late} * 2 + 1,
        CASE WHEN n % 2 = 0 THEN memory ELSE jsonb_set(memory, '{excluded}', $2) END, ${others}
      FROM template, generate_series(0, ${TASKS - 1}) AS n`,
    [runIds, JSON.stringify([excluded])],
  );
}

/** All of a queue, read page by page. Only the last page may be shorter than asked: it says that there is no more. */
async function read(slice: Pick<QueueSlice, 'agentId' | 'limit'>): Promise<string[]> {
  const ids: string[] = [];
  for (let after: Place | null = null; ; ) {
    const page = await loadQueue(db.pool, projectId, {
      purpose: 'work',
      runIds,
      labels: [],
      ...slice,
      after,
    });
    ids.push(...page.map(({ id }) => id));
    const last = page.at(-1);
    if (last === undefined || page.length < slice.limit) return ids;
    after = { rank: last.priority * 2 + 1, readyAt: last.readyAt, id: last.id };
  }
}

describe.each(Object.entries(LAYOUTS))('a queue of many runs, its tasks %s', (_, run) => {
  beforeAll(() => lay(run));

  it.each([7, 17, 128, 1_000, TASKS])('is read in claim order, all of it, %i at a time', async (limit) => {
    const { rows } = await db.pool.query<{ id: string; mine: boolean }>(
      `SELECT id, NOT memory->'excluded' ? $1 AS mine FROM tasks ORDER BY rank, ready_at, id`,
      [excluded],
    );
    expect(await read({ agentId: null, limit })).toEqual(rows.map(({ id }) => id));
    const mine = rows.filter((row) => row.mine).map(({ id }) => id);
    expect(await read({ agentId: excluded, limit })).toEqual(mine);
  });
});
