import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { Play, send } from '../support/play.js';

let app: TestApp;
let play: Play;

beforeAll(async () => {
  app = await startTestApp();
  play = new Play(app);
});
afterAll(() => app.close());

describe('times', () => {
  it.each(['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-00:01'])(
    '%s is in no year that can be stored, and refused',
    async (time) => {
      const answers = [
        await play.planner.post('/v1/tasks').send({ title: 'x', not_before: time }),
        await play.planner.post('/v1/runs').send({ name: 'x', deadline_at: time }),
        await play.planner.post('/v1/plans').send({
          run: { name: 'x', deadline_at: time },
          tasks: [{ ref: 'a', title: 'x' }],
        }),
        await play.planner.get('/v1/tasks').query({ updated_since: time }),
      ];
      for (const { status, body } of answers) {
        expect(status).toBe(400);
        expect(body.detail).toContain('must be, in UTC, in a year from 0001 to 9999');
      }
    },
  );

  it.each(['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'])('%s is taken', async (time) => {
    const { body } = await play.planner.post('/v1/tasks').send({ title: 'x', not_before: time }).expect(201);
    expect(body.not_before).toBe(time);
  });
});

describe('counters', () => {
  const MOST = Number.MAX_SAFE_INTEGER;

  it('that are full stay full: everything is still read, and the project goes on', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    for (const table of ['tasks', 'runs'])
      await app.pool.query(`UPDATE ${table} SET tokens_used = $1, cost_micros = $1`, [MOST - 1]);
    await app.pool.query('UPDATE tasks SET tokens_input = $1', [MOST - 1]);
    await app.pool.query('UPDATE runs SET iterations = 2147483647 - 1');
    // So that no process trusts what it has in memory.
    await app.pool.query('UPDATE projects SET revision = revision + 1');
    const usage = { tokens: { input: 1_000_000_000 }, cost_usd: 1_000_000, iterations: 100_000 };
    for (let report = 1; report <= 2; report += 1)
      await send(play.executor, id, 'usage', { lease_token: held.token, ...usage }).expect(200);
    const { body: task } = await play.planner.get(`/v1/tasks/${id}`).expect(200);
    expect(task).toMatchObject({ tokens_used: MOST, tokens: { input: MOST }, cost_usd: MOST / 1e6 });
    const { body: run } = await play.planner.get(`/v1/runs/${task.run_id}`).expect(200);
    expect(run).toMatchObject({ iterations: 2_147_483_647, tokens_used: MOST });
    await play.planner.get(`/v1/tasks/${id}/guard`).expect(200);
    await play.planner.get(`/v1/trips/${task.open_trip_id}`).expect(200);
    await play.create();
  });
});
