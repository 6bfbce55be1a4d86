import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp, type TestCaller } from '../../support/app.js';
import { Play, send } from '../../support/play.js';

let app: TestApp;
let play: Play;
let one: TestCaller;
let two: TestCaller;

beforeEach(async () => {
  app = await startTestApp({ config: { FUSEBOARD_FLEET_THRESHOLD: '5' } });
  play = new Play(app);
  one = await app.newAgent('executor');
  two = await app.newAgent('executor');
});
afterEach(async () => {
  await play.expectSound();
  await app.close();
});

const FEED_DOWN = { message: 'the feed at 10.0.0.7 answered 503' };

/** Fails so many new tasks alike, in turn by the agents given. */
async function failAlike(times: number, ...agents: TestCaller[]) {
  const ids: string[] = [];
  for (let turn = 0; turn < times; turn += 1) {
    const agent = agents[turn % agents.length] ?? one;
    const { id } = await play.create();
    await play.fail(await play.claim(id, agent.http), agent.http, FEED_DOWN).expect(200);
    ids.push(id);
  }
  return ids;
}

const breakers = async () => (await play.operator.get('/v1/breakers').expect(200)).body.data;
const fleet = async () => (await breakers())[0];
const next = (agent: TestCaller) => agent.http.post('/v1/tasks/claim').send({});

describe('the breaker of the fleet', () => {
  it('opens once, on the fifth task that failed alike by two agents', async () => {
    await failAlike(4, one, two);
    expect(await fleet()).toMatchObject({ scope: 'fleet', state: 'closed' });
    await failAlike(1, one);
    expect(await fleet()).toMatchObject({ state: 'open', openings: 1 });
    const refused = await next(two);
    expect(refused.body).toMatchObject({ status: 503, code: 'fleet_breaker_open', retryable: true });
    expect(refused.headers['retry-after']).toBe('300');
    await play.create();
    await next(one).expect(503);
  });

  it('failures in different words, or of one task, do not open it', async () => {
    const { id } = await play.create({ limits: { max_errors: 50 } });
    for (let turn = 0; turn < 6; turn += 1) {
      const agent = turn % 2 === 0 ? one : two;
      await play.fail(await play.claim(id, agent.http), agent.http, FEED_DOWN).expect(200);
    }
    for (const word of ['alpha', 'beta', 'gamma', 'delta', 'epsilon']) {
      const task = await play.create();
      await play.fail(await play.claim(task.id, one.http), one.http, { message: `no ${word}` }).expect(200);
    }
    expect(await fleet()).toMatchObject({ state: 'closed' });
  });

  it('forgets failures outside its window', async () => {
    await failAlike(4, one, two);
    app.clock.advance(601);
    await failAlike(1, one);
    expect(await fleet()).toMatchObject({ state: 'closed' });
  });

  it('while it is open, failing so counts on no task', async () => {
    const { id } = await play.create();
    const held = await play.claim(id, two.http);
    await failAlike(5, one, two);
    const { body } = await play.fail(held, two.http, FEED_DOWN).expect(200);
    expect(body).toMatchObject({ error_count: 0, error_total: 0 });
  });

  it('after the cooldown lets exactly one probe through, on a task that failed so, however many ask', async () => {
    const ids = await failAlike(5, one, two);
    await play.create({ priority: 0 });
    app.clock.advance(301);
    expect(await fleet()).toMatchObject({ state: 'half_open' });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => next(i % 2 === 0 ? one : two)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 503)).toHaveLength(19);
    expect(ids).toContain(given[0]?.body.claims[0].task.id);
  });

  it('a submission of the probe closes it', async () => {
    const [id = ''] = await failAlike(5, one, two);
    app.clock.advance(301);
    await play.submit(await play.claim(id, one.http), one.http).expect(200);
    expect(await fleet()).toMatchObject({ state: 'closed', openings: 0, trip_id: null });
    await next(two).expect(200);
  });

  it('a failure opens it again for twice as long, up to an hour', async () => {
    const [id = ''] = await failAlike(5, one, two);
    for (const seconds of [600, 1_200, 2_400, 3_600, 3_600]) {
      app.clock.advance(3_601);
      await app.tasks.sweep();
      await play.fail(await play.claim(id, one.http), one.http, FEED_DOWN).expect(200);
      const { half_open_at } = await fleet();
      const refused = await next(two).expect(503);
      expect(refused.headers['retry-after']).toBe(String(seconds));
      expect(half_open_at).not.toBeNull();
    }
  });

  it('a probe that ends in neither gives its place back', async () => {
    const [id = ''] = await failAlike(5, one, two);
    app.clock.advance(301);
    const held = await play.claim(id, one.http);
    await next(two).expect(503);
    await send(one.http, id, 'release', { lease_token: held.token }).expect(200);
    expect(await fleet()).toMatchObject({ state: 'half_open', probe_task_id: null });
    await play.claim(id, two.http);
  });

  it('a probe whose lease ran out gives its place back, whoever finds that out and is refused', async () => {
    const [id = '', another = ''] = await failAlike(5, one, two);
    app.clock.advance(301);
    await play.claim(id, one.http, { lease_seconds: 10 });
    app.clock.advance(11);
    await send(two.http, id, 'claim').expect(503);
    expect(await fleet()).toMatchObject({ state: 'half_open', probe_task_id: null });
    await play.submit(await play.claim(another, two.http), two.http).expect(200);
    expect(await fleet()).toMatchObject({ state: 'closed' });
  });

  it('a probe whose lease ran out gives its place back also where that blocks the task', async () => {
    const { id } = await play.create({ limits: { max_errors: 2 } });
    await play.fail(await play.claim(id, one.http), one.http, FEED_DOWN).expect(200);
    await failAlike(4, two, one);
    app.clock.advance(301);
    await play.claim(id, one.http, { lease_seconds: 10 });
    app.clock.advance(11);
    expect((await send(two.http, id, 'claim').expect(409)).body.code).toBe('task_blocked');
    expect(await fleet()).toMatchObject({ state: 'half_open', probe_task_id: null });
    await next(two).expect(200);
  });

  it('is isolated and closed by an operator alone', async () => {
    const { id } = await fleet();
    await play.planner.post(`/v1/breakers/${id}/isolate`).send({ reason: 'x' }).expect(403);
    await play.operator
      .post(`/v1/breakers/${id}/isolate`)
      .send({ reason: 'the network is being changed' })
      .expect(200);
    await play.create();
    expect((await next(one).expect(409)).body.code).toBe('isolated');
    app.clock.advance(100_000);
    expect((await next(one).expect(409)).body.code).toBe('isolated');
    await play.operator.post(`/v1/breakers/${id}/close`).send({ reason: 'done' }).expect(200);
    await next(one).expect(200);
  });

  it('never stops a review, and ends of work pass', async () => {
    const { id } = await play.create();
    await play.toReview(id, two.http);
    await failAlike(5, one, two);
    await send(play.reviewer, id, 'claim').expect(200);
    await play.approve(id).expect(200);
  });
});

describe("an agent's breaker", () => {
  it('opens instead of the fleet’s when one agent failed all of them', async () => {
    await failAlike(5, one);
    expect(await fleet()).toMatchObject({ state: 'closed' });
    await play.create();
    expect((await next(one).expect(409)).body.code).toBe('agent_breaker_open');
    await next(two).expect(200);
  });

  it('opens on fatal, and a probe that succeeds after the cooldown closes it', async () => {
    const { id } = await play.create();
    await play
      .fail(await play.claim(id, one.http), one.http, { class: 'fatal', message: 'the key was revoked' })
      .expect(200);
    await play.create();
    expect((await next(one).expect(409)).body.code).toBe('agent_breaker_open');
    app.clock.advance(301);
    const probe = await next(one).expect(200);
    await next(one).expect(409);
    const { task, lease_token: token, attempt } = probe.body.claims[0];
    await play.submit({ id: task.id, token, attempt }, one.http).expect(200);
    await play.create();
    await next(one).expect(200);
  });

  it('a probe that another took over gives its place back', async () => {
    const first = await play.create();
    await play.fail(await play.claim(first.id, one.http), one.http, { class: 'fatal', message: 'no model' });
    app.clock.advance(301);
    const { id } = await play.create();
    await play.claim(id, one.http, { lease_seconds: 10 });
    app.clock.advance(11);
    await play.claim(id, two.http);
    await play.create();
    await next(one).expect(200);
  });
});

describe('a task that tripped on errors', () => {
  async function tripped() {
    const { id } = await play.create();
    for (const word of ['alpha', 'beta', 'gamma'])
      await play.fail(await play.claim(id), play.executor, { message: word }).expect(200);
    expect(await play.task(id)).toMatchObject({ state: 'blocked', trip_count: 1 });
    return id;
  }
  const cool = async () => {
    app.clock.advance(301);
    await app.tasks.sweep();
  };

  it('comes back by itself after the cooldown for one probe, with one error left', async () => {
    const id = await tripped();
    app.clock.advance(299);
    await app.tasks.sweep();
    expect(await play.task(id)).toMatchObject({ state: 'blocked' });
    await cool();
    expect(await play.task(id)).toMatchObject({
      state: 'pending',
      error_count: 2,
      error_total: 3,
      unblock_count: 0,
    });
    const { body } = await play.fail(await play.claim(id), play.executor, { message: 'delta' }).expect(200);
    expect(body).toMatchObject({ state: 'blocked', error_count: 3, trip_count: 1 });
  });

  it('a submission ends the probe: the trip is closed and the errors are over', async () => {
    const id = await tripped();
    await cool();
    await play.toReview(id);
    expect(await play.task(id)).toMatchObject({
      state: 'in_review',
      error_count: 0,
      error_total: 3,
      open_trip_id: null,
    });
  });

  it('recovers twice, then waits for a planner', async () => {
    const id = await tripped();
    for (const word of ['delta', 'epsilon']) {
      await cool();
      await play.fail(await play.claim(id), play.executor, { message: word }).expect(200);
    }
    await cool();
    expect(await play.task(id)).toMatchObject({ state: 'blocked' });
    await play.unblock(id).expect(200);
    expect(await play.task(id)).toMatchObject({ state: 'pending', unblock_count: 1, error_count: 0 });
  });

  it('waits for a planner from the first where the project says so', async () => {
    const { headers } = await play.operator.get('/v1/projects/current').expect(200);
    await play.operator
      .patch('/v1/projects/current')
      .set('if-match', String(headers.etag))
      .send({ policies: { error_recovery: 'manual' } })
      .expect(200);
    const id = await tripped();
    await cool();
    expect(await play.task(id)).toMatchObject({ state: 'blocked' });
  });
});
