import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play, send } from '../../support/play.js';

let app: TestApp;
let play: Play;

beforeAll(async () => {
  app = await startTestApp();
  play = new Play(app);
});
afterAll(() => app.close());

const recover = (id: string, fields: object = {}, agent = play.planner) =>
  agent.post(`/v1/runs/${id}/recover`).send({ reason: 'go on', ...fields });

async function tripped(limits: object = { max_iterations: 1 }) {
  const { body: run } = await play.planner.post('/v1/runs').send({ name: 'night', limits }).expect(201);
  const first = await play.create({ run_id: run.id });
  const second = await play.create({ run_id: run.id });
  const held = await play.claim(first.id);
  return { id: String(run.id), held, next: second.id };
}

describe('a run', () => {
  it('is made, read, changed with its ETag and closed', async () => {
    const made = await play.planner
      .post('/v1/runs')
      .send({ name: 'release', limits: { max_iterations: 20, max_tokens: 500 } })
      .expect(201);
    expect(made.body).toMatchObject({
      name: 'release',
      state: 'open',
      iteration_mode: 'total',
      iterations: 0,
      limits: { max_iterations: 20, max_tokens: 500 },
    });
    const { id } = made.body;
    const read = await play.planner.get(`/v1/runs/${id}`).expect(200);
    await play.planner.get(`/v1/runs/${id}`).set('if-none-match', String(read.headers.etag)).expect(304);
    await play.planner.patch(`/v1/runs/${id}`).send({ name: 'x' }).expect(428);
    await play.planner.patch(`/v1/runs/${id}`).set('if-match', '"v9"').send({ name: 'x' }).expect(412);
    const changed = await play.planner
      .patch(`/v1/runs/${id}`)
      .set('if-match', String(read.headers.etag))
      .send({ name: 'x' })
      .expect(200);
    expect(changed.body).toMatchObject({ name: 'x', version: 2 });
    await play.planner.post(`/v1/runs/${id}/close`).send({}).expect(200);
    expect(
      (await play.planner.post('/v1/tasks').send({ title: 't', run_id: id }).expect(409)).body.code,
    ).toBe('run_closed');
  });

  it('gives its limits to its tasks, which may set their own', async () => {
    const { body: run } = await play.planner
      .post('/v1/runs')
      .send({ name: 'r', limits: { max_reworks: 2, max_errors: 7 } })
      .expect(201);
    const { body } = await play.planner
      .post('/v1/tasks')
      .send({ title: 't', run_id: run.id, limits: { max_errors: 9 } })
      .expect(201);
    expect(body.limits).toMatchObject({ max_reworks: 2, max_errors: 9, max_tokens: 10_000 });
    const guard = await play.planner.get(`/v1/tasks/${body.id}/guard`).expect(200);
    expect(guard.body.limits).toMatchObject({
      max_reworks: { value: 2, from: 'run' },
      max_errors: { value: 9, from: 'task' },
      max_tokens: { from: 'server' },
      max_iterations: { value: 100, from: 'server' },
      max_run_tokens: { value: null, from: 'server' },
    });
  });

  it('knows how many of its tasks are where', async () => {
    const { id, held } = await tripped({ max_iterations: 10 });
    await play.submit(held).expect(200);
    expect((await play.planner.get(`/v1/runs/${id}`).expect(200)).body.tasks).toEqual({
      pending: 1,
      in_review: 1,
    });
  });

  it('of another project is not there, and roles hold', async () => {
    const { id } = await tripped();
    const stranger = await app.newProject();
    await stranger.http.get(`/v1/runs/${id}`).expect(404);
    await recover(id, {}, stranger.http).expect(404);
    await recover(id, {}, play.executor).expect(403);
    await play.reviewer.post('/v1/runs').send({ name: 'x' }).expect(403);
  });

  it('the default run never ends', async () => {
    const { run_id } = await play.create();
    await play.planner.post(`/v1/runs/${run_id}/close`).send({}).expect(409);
  });
});

describe('a tripped run', () => {
  it('is passed over by claims for the next task, which go to other runs', async () => {
    const { next } = await tripped();
    const { id } = await play.create({ priority: 9, labels: ['other'] });
    const { body } = await play.executor
      .post('/v1/tasks/claim')
      .send({ labels: ['other'] })
      .expect(200);
    expect(body.claims[0].task.id).toBe(id);
    await send(play.executor, next, 'claim').expect(409);
  });

  it('is lifted by a planner with a reason, and its counter starts again', async () => {
    const { id, next } = await tripped();
    const { body } = await recover(id).expect(200);
    expect(body).toMatchObject({ state: 'open', iterations: 0, recover_count: 1, open_trip_id: null });
    await send(play.executor, next, 'claim').expect(200);
  });

  it('the second time something must have changed; after max_unblocks only an operator lifts it', async () => {
    const { body: run } = await play.planner
      .post('/v1/runs')
      .send({ name: 'loop', limits: { max_iterations: 1 } })
      .expect(201);
    const spin = async () => {
      const { id } = await play.create({ run_id: run.id });
      await play.claim(id);
    };
    await spin();
    await recover(run.id).expect(200);
    await spin();
    expect((await recover(run.id).expect(422)).body.code).toBe('nothing_changed');
    await recover(run.id, { changes: { limits: { max_iterations: 2 } } }).expect(200);
    await spin();
    await spin();
    await recover(run.id, { changes: { limits: { max_iterations: 1 } } }).expect(200);
    await spin();
    const refused = await recover(run.id, { changes: { limits: { max_iterations: 5 } } }).expect(403);
    expect(refused.body.code).toBe('escalation_required');
    await recover(run.id, {}, play.operator).expect(200);
  });

  it('must not stay over a budget', async () => {
    const { id, held } = await tripped({ max_run_tokens: 100 });
    await send(play.executor, held.id, 'usage', { lease_token: held.token, tokens: { input: 101 } }).expect(
      200,
    );
    expect((await recover(id).expect(422)).body.code).toBe('still_over_limit');
    await recover(id, { reset_tokens: true }).expect(200);
  });

  it('escalate leaves it to an operator, and changes nothing else', async () => {
    const { id } = await tripped();
    const changes = { limits: { max_iterations: 9 } };
    for (const [field, value] of Object.entries({ changes, reset_tokens: true })) {
      const { body } = await recover(id, { strategy: 'escalate', [field]: value }).expect(400);
      expect(body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: `/${field}` }] });
    }
    expect((await recover(id, { strategy: 'escalate' }).expect(200)).body).toMatchObject({
      state: 'tripped',
      recover_count: 0,
    });
    await recover(id, { strategy: 'escalate' }).expect(200);
    const { body } = await play.operator.get(`/v1/events?type=trip.escalated&limit=200`).expect(200);
    const told = body.data.filter((event: { run_id: string }) => event.run_id === id);
    expect(told).toMatchObject([{ reason: 'go on', data: { severity: 'HIGH' } }]);
    expect((await recover(id).expect(403)).body.code).toBe('escalation_required');
    await recover(id, {}, play.operator).expect(200);
  });

  it('terminate ends it', async () => {
    const { id } = await tripped();
    expect((await recover(id, { strategy: 'terminate' }).expect(200)).body.state).toBe('closed');
  });

  it('wakes the claims that wait, once it is recovered', async () => {
    const { id, next } = await tripped();
    const waiting = play.executor.post('/v1/tasks/claim?wait_seconds=20').send({ labels: ['woken'] });
    const answer = waiting.then((response) => response);
    const task = await play.task(next);
    await play.planner
      .patch(`/v1/tasks/${next}`)
      .set('if-match', `"v${task.version}"`)
      .send({ labels: ['woken'] })
      .expect(200);
    await recover(id).expect(200);
    expect((await answer).body.claims[0].task.id).toBe(next);
  });

  it('a deadline that has passed trips at the next start', async () => {
    const deadline_at = new Date(Date.now() + 3_600_000).toISOString();
    const { body: run } = await play.planner
      .post('/v1/runs')
      .send({ name: 'bounded', deadline_at })
      .expect(201);
    const { id } = await play.create({ run_id: run.id });
    app.clock.advance(3_700);
    const refused = await send(play.executor, id, 'claim').expect(409);
    expect(refused.body).toMatchObject({ code: 'run_tripped', trip: { kind: 'deadline' } });
    expect((await play.planner.get(`/v1/runs/${run.id}`)).body.state).toBe('tripped');
    const later = new Date(Date.now() + 36_000_000).toISOString();
    await recover(run.id, { changes: { deadline_at: later } }).expect(200);
    await send(play.executor, id, 'claim').expect(200);
  });
});

it('leaves rows and log in agreement', () => play.expectSound());
