import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { Play, send } from '../support/play.js';

let app: TestApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp();
  play = new Play(app);
});
afterEach(() => play.expectSound());
afterAll(() => app.close());

/** Claims, and is never heard of again. */
async function vanish(id: string, agent = play.executor): Promise<void> {
  await play.claim(id, agent);
  app.clock.advance(301);
  await app.tasks.sweep();
}

describe('dies before the first heartbeat', () => {
  it('three times: each expiry ends its attempt and counts one error, the third blocks', async () => {
    const { id } = await play.create();
    for (const count of [1, 2, 3]) {
      await vanish(id);
      expect(await play.task(id)).toMatchObject({
        state: count === 3 ? 'blocked' : 'pending',
        error_count: count,
        error_total: count,
        rework_count: 0,
        claimed_by: null,
        lease_expires_at: null,
      });
    }
    expect(await play.task(id)).toMatchObject({ block_reason: { kind: 'error' }, trip_count: 1 });
    const attempts = await play.attempts(id);
    expect(attempts).toHaveLength(3);
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({
        outcome: 'lease_expired',
        error: { class: 'lease_expired' },
        result: null,
      });
      expect(attempt.ended_at).not.toBeNull();
    }
    expect((await play.events(id, 'guard.warned')).map(({ data }) => data.value)).toEqual([2]);
    const expired = await play.events(id, 'task.lease_expired');
    expect(expired.map(({ actor }) => actor)).toEqual(Array(3).fill({ agent_id: null, role: 'server' }));
  });

  it('a lease ends when its time is over, and not a moment before', async () => {
    const { id } = await play.create();
    await play.claim(id, play.executor, { lease_seconds: 60 });
    app.clock.advance(58);
    await app.tasks.sweep();
    expect((await play.task(id)).state).toBe('in_progress');
    app.clock.advance(2);
    await app.tasks.sweep();
    expect((await play.task(id)).state).toBe('pending');
  });

  it('a sign of life puts the end off, up to the longest an attempt may take', async () => {
    const { id } = await play.create({ limits: { max_attempt_seconds: 700 } });
    const held = await play.claim(id);
    const beat = () => send(play.executor, id, 'heartbeat', { lease_token: held.token });
    for (let times = 0; times < 2; times += 1) {
      app.clock.advance(290);
      expect((await beat().expect(200)).body).toMatchObject({ directive: 'continue' });
      await app.tasks.sweep();
    }
    const { version } = await play.task(id);
    await beat().expect(200);
    expect((await play.task(id)).version).toBe(version);
    app.clock.advance(121);
    await app.tasks.sweep();
    expect(await play.task(id)).toMatchObject({ state: 'pending', error_count: 1 });
    expect((await beat().expect(409)).body.code).toBe('lease_lost');
  });

  it('until the expiry is recorded the holder may act', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    app.clock.advance(400);
    expect(
      (await send(play.executor, id, 'heartbeat', { lease_token: held.token }).expect(200)).body.directive,
    ).toBe('continue');
    app.clock.advance(400);
    await play.submit(held).expect(200);
    expect(await play.task(id)).toMatchObject({ state: 'in_review', error_count: 0 });
  });

  it('a claim that meets a lease past its end expires it in the same write', async () => {
    const other = await app.newAgent('executor');
    const { id } = await play.create();
    await play.claim(id);
    app.clock.advance(301);
    const held = await play.claim(id, other.http);
    expect(held).toMatchObject({ attempt: 2, token: 2 });
    expect((await play.events(id)).map(({ type }) => type)).toEqual([
      'task.created',
      'task.claimed',
      'task.lease_expired',
      'task.claimed',
    ]);
    app.clock.advance(301);
    await app.tasks.sweep();
    await play.claim(id, other.http);
    app.clock.advance(301);
    const third = await send(play.executor, id, 'claim').expect(409);
    expect(third.body).toMatchObject({ code: 'task_blocked', trip: { kind: 'error', value: 3 } });
    expect((await play.task(id)).state).toBe('blocked');
  });
});

describe('dies in other ways', () => {
  it('expiries and failures add up, in any order', async () => {
    const { id } = await play.create();
    await play.fail(await play.claim(id)).expect(200);
    await vanish(id);
    const { body } = await play.fail(await play.claim(id)).expect(200);
    expect(body).toMatchObject({
      state: 'blocked',
      error_count: 3,
      trip: { kind: 'error', severity: 'MEDIUM' },
    });
    expect((await play.attempts(id)).map(({ outcome }) => outcome)).toEqual([
      'failed',
      'lease_expired',
      'failed',
    ]);
  });

  it.each(['rate_limited', 'infrastructure'])('%s does not count: it only delays', async (errorClass) => {
    const labels = [errorClass];
    const { id } = await play.create({ labels });
    for (let time = 0; time < 4; time += 1) {
      const held = await play.claim(id);
      const failed = await send(play.executor, id, 'fail', {
        lease_token: held.token,
        error: { class: errorClass, message: 'quota' },
        retry_after_seconds: 120,
      }).expect(200);
      expect(failed.body).toMatchObject({ state: 'pending', error_count: 0, error_total: 0 });
      expect((await send(play.executor, id, 'claim').expect(409)).body.code).toBe('not_yet_due');
      await play.executor.post('/v1/tasks/claim').send({ labels }).expect(204);
      app.clock.advance(121);
    }
    await app.tasks.sweep();
    const next = await play.executor.post('/v1/tasks/claim').send({ labels }).expect(200);
    expect(next.body.claims[0]).toMatchObject({ task: { id }, attempt: 5 });
  });

  it('a delay that nobody names is the cooldown', async () => {
    const { id } = await play.create();
    await play.fail(await play.claim(id), play.executor, { class: 'infrastructure' }).expect(200);
    app.clock.advance(290);
    expect((await send(play.executor, id, 'claim').expect(409)).body.code).toBe('not_yet_due');
    app.clock.advance(11);
    await play.claim(id);
  });

  it('the twenty-first attempt never starts, whatever ended the others', async () => {
    const { id } = await play.create();
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      const held = await play.claim(id);
      expect(held.attempt).toBe(attempt);
      const { body } = await send(play.executor, id, 'release', { lease_token: held.token }).expect(200);
      expect(body).toMatchObject({ state: attempt === 20 ? 'blocked' : 'pending', error_count: 0 });
    }
    expect(await play.task(id)).toMatchObject({ block_reason: { kind: 'attempt' }, attempt: 20 });
    const warned = await play.events(id, 'guard.warned');
    expect(warned.map(({ data }) => [data.kind, data.value, data.limit])).toEqual([['attempt', 17, 20]]);
    expect((await play.unblock(id).expect(200)).body.guard.layers).toContainEqual({
      kind: 'attempt',
      value: 1,
      limit: 20,
      state: 'closed',
      warned: false,
    });
    expect((await play.claim(id)).attempt).toBe(21);
  });

  it('fatal of one agent excludes it; of a second one it blocks, for an operator', async () => {
    const one = await app.newAgent('executor');
    const two = await app.newAgent('executor');
    const { id } = await play.create({ labels: ['fatal'] });
    const first = await play.fail(await play.claim(id, one.http), one.http, { class: 'fatal' }).expect(200);
    expect(first.body).toMatchObject({ state: 'pending', error_count: 0 });
    expect((await send(one.http, id, 'claim').expect(409)).body.code).toBe('excluded_agent');
    const next = await one.http.post('/v1/tasks/claim').send({ labels: ['fatal'] });
    expect(next.body).toMatchObject({ status: 409, code: 'agent_breaker_open' });
    const second = await play.fail(await play.claim(id, two.http), two.http, { class: 'fatal' }).expect(200);
    expect(second.body).toMatchObject({
      state: 'blocked',
      block_reason: { kind: 'error' },
      trip: { kind: 'error', severity: 'HIGH', action_required: 'BLOCKER_ESCALATION' },
    });
    expect((await play.unblock(id).expect(403)).body.code).toBe('escalation_required');
    await play.unblock(id, play.operator).expect(200);
  });

  it('a second fatal is for an operator also when it crosses another limit at once', async () => {
    const one = await app.newAgent('executor');
    const two = await app.newAgent('executor');
    const { id } = await play.create();
    await play.fail(await play.claim(id, one.http), one.http, { class: 'fatal' }).expect(200);
    const held = await play.claim(id, two.http);
    const { body } = await send(two.http, id, 'fail', {
      lease_token: held.token,
      error: { class: 'fatal', message: 'revoked' },
      usage: { tokens: { input: 10_001 } },
    }).expect(200);
    expect(body).toMatchObject({ state: 'blocked', trip: { kind: 'token', severity: 'HIGH' } });
  });

  it('a reviewer that dies three times blocks the task too, as a review', async () => {
    const { id } = await play.create();
    await play.toReview(id);
    for (const count of [1, 2, 3]) {
      await play.claim(id, play.reviewer);
      app.clock.advance(301);
      await app.tasks.sweep();
      expect(await play.task(id)).toMatchObject({
        state: count === 3 ? 'blocked' : 'in_review',
        review_failures: count,
        error_count: 0,
      });
    }
    expect(await play.task(id)).toMatchObject({ block_reason: { kind: 'review' } });
    const { body } = await play.unblock(id, play.planner, { to: 'in_review' }).expect(200);
    expect(body).toMatchObject({ state: 'in_review', review_failures: 0 });
    await play.approve(id).expect(200);
  });

  it('an approval meets a dead review, and is heard after it', async () => {
    const other = await app.newAgent('reviewer');
    const { id } = await play.create();
    await play.toReview(id);
    await play.claim(id, play.reviewer);
    expect((await play.approve(id, other.http).expect(409)).body.code).toBe('already_claimed');
    app.clock.advance(301);
    expect((await play.approve(id, other.http).expect(200)).body).toMatchObject({
      state: 'done',
      review_failures: 1,
    });
  });
});
