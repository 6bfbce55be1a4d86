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

/** A run of its own with that many iterations reported on one of its tasks. */
async function runAt(iterations: number, limits: Record<string, number> = {}) {
  const { body: run } = await play.planner
    .post('/v1/runs')
    .send({ name: `at ${iterations}`, limits })
    .expect(201);
  const { id } = await play.create({ run_id: run.id });
  const other = await play.create({ run_id: run.id });
  const held = await play.claim(id);
  const { body } = await send(play.executor, id, 'usage', {
    lease_token: held.token,
    iterations: iterations - 1,
  }).expect(200);
  return { run, id, held, other: other.id, body };
}

const layer = (body: { guard: { layers: { kind: string }[] } }, kind: string) =>
  body.guard.layers.find((one) => one.kind === kind);

describe('iterations', () => {
  it('100 of 100 trips the run: nothing in it starts, and what is in flight is handed in', async () => {
    const { run, held, other, body } = await runAt(100);
    expect(body.trip).toMatchObject({
      scope: 'run',
      kind: 'iteration',
      value: 100,
      limit: 100,
      over_percent: 0,
      severity: 'MEDIUM',
    });
    expect(body.state).toBe('in_progress');
    const refused = await send(play.executor, other, 'claim').expect(409);
    expect(refused.body).toMatchObject({
      code: 'run_tripped',
      retryable: false,
      trip: { kind: 'iteration', value: 100, limit: 100 },
    });
    const named = await play.executor.post('/v1/tasks/claim').send({ run_id: run.id }).expect(409);
    expect(named.body.code).toBe('run_tripped');
    const beat = await send(play.executor, held.id, 'heartbeat', { lease_token: held.token }).expect(200);
    expect(beat.body.directive).toBe('stop');
    expect((await play.submit(held).expect(200)).body.state).toBe('in_review');
    expect((await play.approve(held.id).expect(200)).body.state).toBe('done');
  });

  it('99 of 100 does not, and the claim that makes it 100 stands', async () => {
    const { other, body } = await runAt(99);
    expect(body.trip).toBeUndefined();
    const claimed = await send(play.executor, other, 'claim').expect(200);
    expect(claimed.body.trip).toMatchObject({ scope: 'run', kind: 'iteration', value: 100 });
  });

  it.each([
    [105, 5, 'MEDIUM', 'AUTOMATIC_RECOVERY'],
    [120, 20, 'MEDIUM', 'AUTOMATIC_RECOVERY'],
    [121, 21, 'HIGH', 'BLOCKER_ESCALATION'],
  ])('%i is %i%% over and %s', async (iterations, over, severity, action) => {
    const { body } = await runAt(iterations);
    expect(body.trip).toMatchObject({ over_percent: over, severity, action_required: action });
  });

  it('warns at 81 and not at 80', async () => {
    expect((await runAt(80)).body.warnings).toBeUndefined();
    expect((await runAt(81)).body.warnings).toMatchObject([{ kind: 'iteration', value: 81, limit: 100 }]);
  });

  it('an active board never trips the default run, and one that spins does', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const { id, run_id } = await play.create();
      await play.toReview(id);
      await play.approve(id).expect(200);
      const { body } = await play.planner.get(`/v1/runs/${run_id}`).expect(200);
      expect(body).toMatchObject({ is_default: true, iteration_mode: 'since_progress', iterations: 0 });
    }
  });

  it('a run that is not there names the call that makes one', async () => {
    const run_id = 'run_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b';
    for (const call of [
      play.planner.post('/v1/tasks').send({ title: 'x', run_id }),
      play.executor.post('/v1/tasks/claim').send({ run_id }),
    ]) {
      const { body } = await call.expect(404);
      expect(body.next_actions).toContainEqual({ method: 'POST', path: '/v1/runs', role: 'planner' });
    }
  });
});

describe('tokens', () => {
  async function report(input: number) {
    const { id } = await play.create();
    const held = await play.claim(id);
    return (
      await send(play.executor, id, 'usage', { lease_token: held.token, tokens: { input } }).expect(200)
    ).body;
  }

  it.each([
    [10_000, null],
    [10_001, 'MEDIUM'],
    [11_000, 'MEDIUM'],
    [12_000, 'MEDIUM'],
    [15_000, 'MEDIUM'],
    [15_001, 'HIGH'],
  ])('%i of 10,000: %s', async (input, severity) => {
    const body = await report(input);
    if (severity === null) expect(body).toMatchObject({ state: 'in_progress', tokens_used: input });
    else
      expect(body).toMatchObject({
        state: 'blocked',
        trip: { kind: 'token', severity },
        block_reason: { kind: 'token' },
      });
  });

  it('warns at 8,001 and not at 8,000', async () => {
    expect((await report(8_000)).warnings).toBeUndefined();
    expect((await report(8_001)).warnings).toMatchObject([{ kind: 'token', value: 8_001, limit: 10_000 }]);
  });

  it('twenty reports of 600 at once are all recorded: one warning, one trip', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    const report = () =>
      send(play.executor, id, 'usage', { lease_token: held.token, tokens: { output: 600 } }).expect(200);
    await Promise.all(Array.from({ length: 20 }, report));
    expect(await play.task(id)).toMatchObject({ tokens_used: 12_000, state: 'blocked', trip_count: 1 });
    expect(await play.events(id, 'guard.warned')).toHaveLength(1);
    expect(await play.events(id, 'trip.opened')).toHaveLength(1);
  });

  it('a report with the same key counts once, and one without counts each time', async () => {
    const { id } = await play.create();
    const { token } = await play.claim(id);
    const report = () => send(play.executor, id, 'usage', { lease_token: token, tokens: { input: 10 } });
    await report().set('idempotency-key', 'one').expect(200);
    await report().set('idempotency-key', 'one').expect(200);
    expect(await play.task(id)).toMatchObject({ tokens_used: 10 });
    await report().expect(200);
    expect(await play.task(id)).toMatchObject({ tokens_used: 20 });
  });

  it.each([-1, 0.5, 1e12, 'many', null])('a report of %s tokens is 400', async (input) => {
    const { id } = await play.create();
    const { token } = await play.claim(id);
    await send(play.executor, id, 'usage', { lease_token: token, tokens: { input } }).expect(400);
  });

  it('a submit that crosses the limit is stored, and can go straight to review', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    const { body } = await play
      .submit(held, play.executor, { usage: { tokens: { input: 10_001 } } })
      .expect(200);
    expect(body).toMatchObject({ state: 'blocked', block_reason: { kind: 'token' } });
    expect((await play.unblock(id, play.planner, { to: 'in_review' }).expect(422)).body.code).toBe(
      'still_over_limit',
    );
    const lifted = await play.unblock(id, play.planner, { to: 'in_review', reset_tokens: true }).expect(200);
    expect(lifted.body).toMatchObject({ state: 'in_review', tokens_used: 0, tokens: { input: 10_001 } });
    expect((await play.approve(id).expect(200)).body.state).toBe('done');
  });

  it('usage is taken after the trip and adds no second alert; its severity rises', async () => {
    const { id } = await play.create();
    const { token } = await play.claim(id);
    const report = (input: number) =>
      send(play.executor, id, 'usage', { lease_token: token, tokens: { input } }).expect(200);
    await report(10_001);
    await report(1_000);
    await report(4_000);
    expect(await play.task(id)).toMatchObject({ tokens_used: 15_001, trip_count: 1 });
    expect(await play.events(id, 'trip.opened')).toHaveLength(1);
    expect(await play.events(id, 'trip.escalated')).toHaveLength(1);
    expect((await play.unblock(id, play.planner, { reset_tokens: true }).expect(403)).body.code).toBe(
      'escalation_required',
    );
  });
});

describe('errors', () => {
  it('two warn and three block', async () => {
    const { id } = await play.create();
    await play.fail(await play.claim(id)).expect(200);
    const second = await play.fail(await play.claim(id)).expect(200);
    expect(second.body.warnings).toMatchObject([{ kind: 'error', value: 2, limit: 3 }]);
    const third = await play.fail(await play.claim(id)).expect(200);
    expect(third.body).toMatchObject({
      state: 'blocked',
      trip: { kind: 'error', value: 3, limit: 3, severity: 'MEDIUM' },
    });
  });
});

it('when everything is normal every layer is closed', async () => {
  const { id } = await play.create();
  const { token } = await play.claim(id);
  const { body } = await send(play.executor, id, 'usage', {
    lease_token: token,
    tokens: { input: 6_000 },
  }).expect(200);
  expect(body.guard.verdict).toBe('allow');
  expect(layer(body, 'token')).toEqual({
    kind: 'token',
    value: 6_000,
    limit: 10_000,
    state: 'closed',
    warned: false,
  });
  expect(layer(body, 'error')).toEqual({ kind: 'error', value: 0, limit: 3, state: 'closed', warned: false });
});

it('leaves rows and log in agreement', () => play.expectSound());
