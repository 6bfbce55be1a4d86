import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkProject } from '../../../src/modules/health/index.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { audit } from '../../support/audit.js';
import { type Board, playBoard } from './board.js';
import { DAMAGES, type Damage } from './damages.js';

let app: TestApp;
let board: Board;
let other: string;
beforeAll(async () => {
  app = await startTestApp();
  board = await playBoard(app);
  await app.newProject('other');
  other = (await app.pool.query("SELECT id FROM projects WHERE name = 'other'")).rows[0].id;
});
afterAll(() => app.close());

/** What the database itself would not let happen. */
const UNGUARDED = [
  'ALTER TABLE events DISABLE TRIGGER USER',
  'ALTER TABLE attempts DISABLE TRIGGER USER',
  'ALTER TABLE tasks DROP CONSTRAINT tasks_counters_check, DROP CONSTRAINT tasks_lease_state_check',
];

/** What breaks when the default project is damaged, there and in the other one. Nothing of the damage stays. */
async function breachesAfter({ hits, by }: Damage) {
  const client = await app.pool.connect();
  try {
    await client.query('BEGIN');
    for (const statement of [...UNGUARDED, ...by])
      await client.query(statement.replaceAll(':hit', `'${board[hits]}'`));
    const here = await checkProject(client, board.project);
    const there = await checkProject(client, other);
    return { here: here.breaches, there: there.breaches };
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

it('a board that nobody damaged keeps every promise', async () => {
  expect(await audit(app.pool)).toEqual({});
});

describe('damage breaks this rule and no other, and in no other project', () => {
  const cases = Object.entries(DAMAGES).flatMap(([rule, damages]) =>
    damages.map((damage) => ({ rule, ...damage })),
  );

  it.each(cases)('$rule: $what', async ({ rule, ...damage }) => {
    expect(await breachesAfter(damage)).toEqual({
      here: [{ rule, broken: 1, examples: [board[damage.hits]] }],
      there: [],
    });
  });

  it('for every rule there is', () => {
    expect(Object.values(DAMAGES).filter((damages) => damages.length === 0)).toEqual([]);
  });
});
