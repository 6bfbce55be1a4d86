import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play } from '../../support/play.js';
import { SOAK } from '../../support/soak.js';
import { crowd } from './crowd.js';

/** Every ten of them have ninety events. In the long form: 100,000 tasks and 900,000 events. */
const TASKS = SOAK > 1 ? 100_000 : 1_000;

let app: TestApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp();
  play = new Play(app);
  const usage = { tokens: { input: 100, output: 20 }, cost_usd: 0.01 };
  for (let n = 0; n < 6; n += 1) {
    const { id } = await play.create();
    await play.lap(id);
    await play.lap(id);
    await play.planner.patch(`/v1/tasks/${id}`).set('if-match', '*').send({ priority: n }).expect(200);
    await play.submit(await play.claim(id), play.executor, { usage }).expect(200);
    await play.approve(id).expect(200);
  }
  await play.tripByRework((await play.create()).id);
  await play.claim((await play.create()).id);
  await play.toReview((await play.create()).id);
  await play.create();
  await crowd(app.databaseUrl, TASKS / 10 - 1);
}, 600_000);
afterAll(() => app.close());

describe('a large board', () => {
  it('is held against every rule in the time that a check has', async () => {
    const { body } = await play.operator.get('/v1/health/invariants').expect(200);
    expect(body).toMatchObject({ ok: true });
    expect(body.position).toBeGreaterThan(TASKS * 9);
  }, 120_000);

  it('does not hide one wrong row', async () => {
    const { rows } = await app.pool.query(
      "UPDATE tasks SET rework_total = 3 WHERE id = (SELECT max(id::text)::uuid FROM tasks WHERE state = 'done') RETURNING id",
    );
    const { body } = await play.operator.get('/v1/health/invariants').expect(200);
    const broken = body.rules.filter((found: { broken: number }) => found.broken > 0);
    expect(broken).toMatchObject([
      { rule: 'last_counters', broken: 1, examples: [`task_${rows[0].id}`] },
      { rule: 'rework_total', broken: 1 },
    ]);
  }, 120_000);
});
