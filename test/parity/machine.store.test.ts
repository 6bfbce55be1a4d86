import { afterAll, beforeAll, expect, it } from 'vitest';
import { TRIP_STATES } from '../../src/modules/guard/types.js';
import { RUN_STATES } from '../../src/modules/runs/types.js';
import { TRANSITIONS } from '../../src/modules/tasks/transitions.js';
import { CLAIM_PURPOSES, OUTCOMES, TASK_STATES, TERMINAL_STATES } from '../../src/modules/tasks/types.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** The words in a CHECK of the database, in the order of the alphabet. */
async function wordsOf(constraint: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ text: string }>(
    'SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = $1',
    [constraint],
  );
  const found = [...(rows[0]?.text ?? '').matchAll(/'([a-z_]+)'/g)].map(([, word = '']) => word);
  return [...new Set(found)].sort();
}

it.each([
  ['tasks_state_check', TASK_STATES],
  ['tasks_finished_check', TERMINAL_STATES],
  ['tasks_lease_check', CLAIM_PURPOSES],
  ['attempts_outcome_check', OUTCOMES],
  ['runs_state_check', RUN_STATES],
  ['trips_state_check', TRIP_STATES],
])('%s of the database knows the words of the code, and no other', async (constraint, words) => {
  expect(await wordsOf(constraint)).toEqual([...words].sort());
});

it('every state of the table is one of the database, and every state of the database is in the table', async () => {
  const inTable = new Set(
    Object.values(TRANSITIONS).flatMap(({ from, to }) => [
      ...from,
      ...to.filter((state) => state !== 'same'),
    ]),
  );
  expect([...inTable].sort()).toEqual(await wordsOf('tasks_state_check'));
});
