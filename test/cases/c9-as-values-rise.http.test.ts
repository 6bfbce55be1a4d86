import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { type Held, Play, send } from '../support/play.js';

let app: TestApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp({ config: { FUSEBOARD_MAX_ITERATIONS: '1000' } });
  play = new Play(app);
});
afterEach(() => play.expectSound());
afterAll(() => app.close());

/** A run of 100 iterations with some tasks, the first of them claimed: one iteration. */
async function someRun(limits: object = {}): Promise<{ run: string; ids: string[]; held: Held }> {
  const tasks = ['a', 'b', 'c'].map((ref) => ({ ref, title: ref }));
  const { body } = await play.planner
    .post('/v1/plans')
    .send({ run: { name: 'the seed', limits: { max_iterations: 100, ...limits } }, tasks })
    .expect(201);
  const ids = body.tasks.map((task: { id: string }) => task.id);
  return { run: body.run_id, ids, held: await play.claim(ids[0]) };
}

const report = async (held: Held, usage: object) =>
  (await send(play.executor, held.id, 'usage', { lease_token: held.token, ...usage }).expect(200)).body;

const layer = (guard: { layers: { kind: string }[] }, kind: string) =>
  guard.layers.find((reading) => reading.kind === kind);

const runOf = async (id: string) => (await play.planner.get(`/v1/runs/${id}`).expect(200)).body;
const tripOf = async (id: string) => (await play.planner.get(`/v1/trips/${id}`).expect(200)).body;

describe('iterations', () => {
  it('warn at 81 and not at 80, trip at 100, and are graver from 121', async () => {
    const { run, ids, held } = await someRun();
    const at80 = await report(held, { iterations: 79 });
    expect(layer(at80.guard, 'iteration')).toEqual({
      kind: 'iteration',
      value: 80,
      limit: 100,
      state: 'closed',
      warned: false,
    });
    expect((await report(held, { iterations: 1 })).warnings).toMatchObject([
      { kind: 'iteration', value: 81 },
    ]);
    await report(held, { iterations: 18 });
    const last = await send(play.executor, ids[1] ?? '', 'claim').expect(200);
    expect(last.body.trip).toMatchObject({ scope: 'run', kind: 'iteration', value: 100, limit: 100 });

    const refused = await send(play.executor, ids[2] ?? '', 'claim').expect(409);
    expect(refused.body).toMatchObject({
      code: 'run_tripped',
      retryable: false,
      run_id: run,
      trip: { kind: 'iteration', severity: 'MEDIUM' },
      next_actions: [{ method: 'POST', path: `/v1/runs/${run}/recover`, role: 'planner' }],
    });
    const next = await play.executor.post('/v1/tasks/claim').send({ run_id: run }).expect(409);
    expect(next.body.code).toBe('run_tripped');

    await report(held, { iterations: 5 });
    const { open_trip_id: trip } = await runOf(run);
    expect(await tripOf(trip)).toMatchObject({ value: 105, over_percent: 5, severity: 'MEDIUM' });
    await report(held, { iterations: 15 });
    expect(await tripOf(trip)).toMatchObject({ value: 120, severity: 'MEDIUM' });
    await report(held, { iterations: 1 });
    expect(await tripOf(trip)).toMatchObject({
      value: 121,
      severity: 'HIGH',
      action_required: 'BLOCKER_ESCALATION',
    });
  });

  it('of the default run start again with progress, and only before it trips', async () => {
    const { http: operator } = await app.newProject();
    const { body: made } = await operator
      .post('/v1/agents')
      .send({ name: 'worker', roles: ['executor'] })
      .expect(201);
    const worker = app.withKey(made.api_key);
    const create = async () =>
      (
        await operator
          .post('/v1/tasks')
          .send({ title: 'x', limits: { max_attempts: 1000 } })
          .expect(201)
      ).body;
    const iterations = (body: { guard: { layers: { kind: string }[] } }) => layer(body.guard, 'iteration');
    await operator
      .patch('/v1/projects/current')
      .set('if-match', '*')
      .send({ limits: { max_iterations: 5 } })
      .expect(200);
    const { id } = await create();
    const turn = async () => (await send(worker, id, 'claim').expect(200)).body.lease_token;
    for (let turns = 0; turns < 3; turns += 1)
      await send(worker, id, 'release', { lease_token: await turn() }).expect(200);
    const submitted = await send(worker, id, 'submit', { lease_token: await turn(), result: 'x' }).expect(
      200,
    );
    expect(iterations(submitted.body)).toMatchObject({ value: 0 });
    await send(operator, id, 'rework', { reason: 'again' }).expect(200);
    const again = await send(worker, id, 'submit', { lease_token: await turn(), result: 'x' }).expect(200);
    expect(iterations(again.body)).toMatchObject({ value: 1 });
    const approved = await send(operator, id, 'approve').expect(200);
    expect(iterations(approved.body)).toMatchObject({ value: 0 });
  });
});

describe('tokens', () => {
  it('warn at 8,001, are allowed to 10,000, trip at 10,001, and are graver from 15,001', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    const tokens = (input: number) => report(held, { tokens: { input } });
    expect((await tokens(8_000)).warnings).toBeUndefined();
    expect((await tokens(1)).warnings).toMatchObject([{ kind: 'token', value: 8_001, limit: 10_000 }]);
    const allowed = await tokens(1_999);
    expect(allowed).toMatchObject({ state: 'in_progress', tokens_used: 10_000, guard: { verdict: 'warn' } });
    const tripped = await tokens(1);
    expect(tripped).toMatchObject({
      state: 'blocked',
      block_reason: { kind: 'token' },
      trip: { kind: 'token', value: 10_001, limit: 10_000, severity: 'MEDIUM' },
    });
    const steps = [
      [999, 11_000, 10, 'MEDIUM'],
      [1_000, 12_000, 20, 'MEDIUM'],
      [3_000, 15_000, 50, 'MEDIUM'],
      [1, 15_001, 50, 'HIGH'],
    ] as const;
    for (const [more, value, over_percent, severity] of steps) {
      await tokens(more);
      expect(await tripOf(tripped.trip.id)).toMatchObject({ value, over_percent, severity });
    }
    expect(await play.events(id, 'guard.warned')).toHaveLength(1);
    expect(await play.events(id, 'trip.escalated')).toHaveLength(1);
    expect((await play.unblock(id).expect(403)).body.code).toBe('escalation_required');
  });

  it('are input, output and what is written to the cache; what is read from it is no new work', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    const answer = await report(held, {
      tokens: { input: 1, output: 20, cache_read: 5_000, cache_write: 300 },
    });
    expect(answer).toMatchObject({
      tokens_used: 321,
      tokens: { input: 1, output: 20, cache_read: 5_000, cache_write: 300 },
    });
  });

  it('a higher limit arms the warning again', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    await report(held, { tokens: { input: 9_000 } });
    await play.operator
      .patch(`/v1/tasks/${id}`)
      .set('if-match', '*')
      .send({ limits: { max_tokens: 20_000 } })
      .expect(200);
    await report(held, { tokens: { input: 7_000 } });
    await report(held, { tokens: { input: 1 } });
    expect((await play.events(id, 'guard.warned')).map(({ data }) => data.value)).toEqual([9_000, 16_001]);
  });
});

describe('errors', () => {
  it('two warn, three block, and the report says of which classes they were', async () => {
    const { id } = await play.create();
    await play.fail(await play.claim(id), play.executor, { message: 'connection reset' }).expect(200);
    expect(await play.events(id, 'guard.warned')).toHaveLength(0);
    const second = await play
      .fail(await play.claim(id), play.executor, { message: 'parse error' })
      .expect(200);
    expect(second.body.warnings).toMatchObject([{ kind: 'error', value: 2, limit: 3 }]);
    await play.fail(await play.claim(id), play.executor, { class: 'infrastructure' }).expect(200);
    app.clock.advance(301);
    await play.claim(id);
    app.clock.advance(301);
    await app.tasks.sweep();
    const { open_trip_id: trip, state } = await play.task(id);
    expect(state).toBe('blocked');
    expect(await tripOf(trip ?? '')).toMatchObject({
      kind: 'error',
      value: 3,
      limit: 3,
      severity: 'MEDIUM',
      report: { errors: { total: 4, by_class: { error: 2, lease_expired: 1, infrastructure: 1 } } },
    });
  });
});

describe('everything normal', () => {
  it('50 of 100, 6,000 of 10,000 and none of 3: every layer is closed', async () => {
    const { held } = await someRun();
    await report(held, { iterations: 49, tokens: { output: 6_000 } });
    const { body } = await play.planner.get(`/v1/tasks/${held.id}/guard`).expect(200);
    expect(body).toMatchObject({ verdict: 'allow', trip: null, run_trip: null });
    const readings = body.layers.map((one: { kind: string; value: number; limit: number; state: string }) =>
      [one.kind, one.value, one.limit, one.state].join(' '),
    );
    expect(readings).toEqual([
      'iteration 50 100 closed',
      'token 6000 10000 closed',
      'error 0 3 closed',
      'rework 0 5 closed',
      'review 0 3 closed',
      'attempt 1 20 closed',
    ]);
  });
});

it('a plan for a run that does not exist is told of the call that makes one', async () => {
  const run_id = 'run_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b';
  const plan = { run_id, tasks: [{ ref: 'a', title: 'a' }] };
  const { body } = await play.planner.post('/v1/plans').send(plan).expect(404);
  expect(body).toMatchObject({
    code: 'not_found',
    next_actions: [{ method: 'POST', path: '/v1/runs', role: 'planner' }],
  });
});

describe('a deadline', () => {
  it('that has passed stops what would start after it, and nothing that goes on', async () => {
    const { created_at } = await play.create();
    const deadline_at = new Date(Date.parse(created_at) + 100_000).toISOString();
    const tasks = ['a', 'b'].map((ref) => ({ ref, title: ref }));
    const { body } = await play.planner
      .post('/v1/plans')
      .send({ run: { name: 'until then', deadline_at }, tasks })
      .expect(201);
    const [a, b] = body.tasks;
    const held = await play.claim(a.id);
    app.clock.advance(102);
    const refused = await send(play.executor, b.id, 'claim').expect(409);
    expect(refused.body).toMatchObject({
      code: 'run_tripped',
      trip: { kind: 'deadline', severity: 'MEDIUM' },
    });
    const named = await play.executor.post('/v1/tasks/claim').send({ run_id: body.run_id }).expect(409);
    expect(named.body.code).toBe('run_tripped');
    await play.submit(held).expect(200);
  });

  it('that had passed before the run began stops the run at once', async () => {
    const { body } = await play.planner
      .post('/v1/plans')
      .send({
        run: { name: 'too late', deadline_at: '2020-01-01T00:00:00Z' },
        tasks: [{ ref: 'a', title: 'a' }],
      })
      .expect(201);
    const { open_trip_id: trip } = await runOf(body.run_id);
    expect(await tripOf(trip)).toMatchObject({ kind: 'deadline', over_percent: 100 });
    expect((await send(play.executor, body.tasks[0].id, 'claim').expect(409)).body.code).toBe('run_tripped');
  });
});
