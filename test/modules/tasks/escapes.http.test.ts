import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play } from '../../support/play.js';

let app: TestApp;
let play: Play;

beforeAll(async () => {
  app = await startTestApp();
  play = new Play(app);
});
afterAll(async () => {
  await play.expectSound();
  await app.close();
});

describe('a planner does not give itself more unblocks', () => {
  it.each([
    ['with a task', () => play.planner.post('/v1/tasks').send({ title: 't', limits: { max_unblocks: 4 } })],
    ['with a run', () => play.planner.post('/v1/runs').send({ name: 'r', limits: { max_unblocks: 4 } })],
    [
      'with the run of a plan',
      () =>
        play.planner
          .post('/v1/plans')
          .send({ run: { name: 'r', limits: { max_unblocks: 4 } }, tasks: [{ ref: 'a', title: 'a' }] }),
    ],
  ])('%s', async (_, call) => {
    const { body } = await call().expect(403);
    expect(body).toMatchObject({ code: 'forbidden_role', required_roles: ['operator'] });
  });

  it('but may want fewer, and an operator may give more', async () => {
    await play.planner
      .post('/v1/tasks')
      .send({ title: 't', limits: { max_unblocks: 1 } })
      .expect(201);
    await play.operator
      .post('/v1/tasks')
      .send({ title: 't', limits: { max_unblocks: 9 } })
      .expect(201);
  });
});

describe('what replaces a task', () => {
  it('stays in its run and under its limits', async () => {
    const { body: run } = await play.planner
      .post('/v1/runs')
      .send({ name: 'tight', limits: { max_reworks: 2 } })
      .expect(201);
    const old = await play.create({ run_id: run.id, limits: { max_errors: 2 } });
    const next = await play.create({ supersedes: old.id });
    expect(next).toMatchObject({ run_id: run.id, limits: { max_reworks: 2, max_errors: 2 } });
  });
});

describe('the parts of a task that is taken apart', () => {
  it('answer for what it has been through, and the log says so from their first event on', async () => {
    const whole = await play.create();
    const { open_trip_id } = await play.tripByRework(whole.id);
    await play.planner
      .post(`/v1/trips/${open_trip_id}/recover`)
      .send({ strategy: 'split', reason: 'too much at once', tasks: [{ ref: 'a', title: 'One half' }] })
      .expect(200);
    const { body: parts } = await play.planner.get(`/v1/tasks?parent_id=${whole.id}`).expect(200);
    const [part] = parts.data;
    const history = { rework_total: 5, error_total: 0, trip_count: 1, unblock_count: 1 };
    expect(part).toMatchObject(history);
    const { body: log } = await play.planner.get(`/v1/tasks/${part.id}/events`).expect(200);
    expect(log.data[0]).toMatchObject({ type: 'task.created', counters: history });
  });
});

describe('an answer that is given again', () => {
  it('has the ETag of the first', async () => {
    const create = () =>
      play.planner.post('/v1/tasks').set('idempotency-key', 'again').send({ title: 't' }).expect(201);
    const first = await create();
    const second = await create();
    expect(second.headers).toMatchObject({ 'idempotency-replayed': 'true', etag: first.headers.etag });
    expect(second.body).toEqual(first.body);
  });
});
