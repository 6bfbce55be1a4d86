import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp, type TestCaller } from '../support/app.js';
import { Play, send } from '../support/play.js';

let app: TestApp;
let play: Play;
let second: TestCaller;
beforeAll(async () => {
  app = await startTestApp();
  play = new Play(app);
  second = await app.newAgent('executor');
});
afterEach(() => play.expectSound());
afterAll(() => app.close());

async function expire(): Promise<void> {
  app.clock.advance(301);
  await app.tasks.sweep();
}

describe('the late writer', () => {
  it('changes nothing; what it sends is kept as evidence on its own attempt', async () => {
    const { id } = await play.create();
    const late = await play.claim(id);
    await expire();
    const held = await play.claim(id, second.http);
    await app.tasks.sweep();
    expect(await play.task(id)).toMatchObject({ state: 'in_progress', attempt: 2, error_count: 1 });
    await play.submit(held, second.http).expect(200);
    await play.approve(id).expect(200);
    const done = await play.task(id);

    const submitted = await play.submit(late, play.executor, { result: 'too late' }).expect(409);
    expect(submitted.body).toMatchObject({ code: 'lease_lost', state: 'done', attempt: 2 });
    expect((await play.fail(late).expect(409)).body.code).toBe('lease_lost');
    expect(await play.task(id)).toEqual(done);
    const [first, last] = await play.attempts(id);
    expect(first).toMatchObject({
      number: 1,
      outcome: 'lease_expired',
      result: null,
      late_result: 'too late',
    });
    expect(last).toMatchObject({ number: 2, outcome: 'submitted', result: 'posts.json', late_result: null });
  });

  it('nor while somebody else works, reviews, or nobody does', async () => {
    const { id } = await play.create();
    const late = await play.claim(id);
    await expire();
    const attemptLate = async () => {
      const before = await play.task(id);
      for (const command of ['submit', 'release', 'heartbeat', 'fail'] as const) {
        const body = {
          submit: { result: 'late' },
          release: {},
          heartbeat: {},
          fail: { error: { message: 'late' } },
        }[command];
        const answer = await send(play.executor, id, command, { lease_token: late.token, ...body }).expect(
          409,
        );
        expect(answer.body.code).toBe('lease_lost');
      }
      expect(await play.task(id)).toEqual(before);
    };
    await attemptLate();
    const held = await play.claim(id, second.http);
    await attemptLate();
    await play.submit(held, second.http).expect(200);
    await attemptLate();
    await play.rework(id).expect(200);
    await attemptLate();
  });

  it('a token is of one agent: another’s is as good as none', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    expect((await play.submit(held, second.http).expect(409)).body.code).toBe('lease_lost');
    expect((await play.attempts(id))[0]).toMatchObject({ late_result: null });
    await play.submit(held).expect(200);
  });

  it('a sweep right after the next claim does nothing', async () => {
    const { id } = await play.create();
    await play.claim(id);
    app.clock.advance(301);
    await play.claim(id, second.http);
    const before = await play.events(id);
    await app.tasks.sweep();
    expect(await play.events(id)).toEqual(before);
  });
});

describe('other late writers', () => {
  it('one that gave the task back and hands in all the same', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    await send(play.executor, id, 'release', { lease_token: held.token, reason: 'no time' }).expect(200);
    expect((await play.submit(held).expect(409)).body.code).toBe('lease_lost');
    expect((await play.attempts(id))[0]).toMatchObject({ outcome: 'released', late_result: 'posts.json' });
    expect(await play.task(id)).toMatchObject({ state: 'pending', error_count: 0 });
  });

  it('the same agent with the token of its own earlier claim', async () => {
    const { id } = await play.create();
    const old = await play.claim(id);
    await expire();
    const held = await play.claim(id);
    expect(held.token).toBeGreaterThan(old.token);
    expect((await play.submit(old, play.executor, { result: 'old' }).expect(409)).body.code).toBe(
      'lease_lost',
    );
    expect(
      (await send(play.executor, id, 'heartbeat', { lease_token: old.token }).expect(409)).body.code,
    ).toBe('lease_lost');
    expect((await play.task(id)).state).toBe('in_progress');
    await play.submit(held).expect(200);
    const [first, last] = await play.attempts(id);
    expect(first).toMatchObject({ late_result: 'old' });
    expect(last).toMatchObject({ result: 'posts.json' });
  });

  it('a reviewer whose review ended: its token judges nothing, its word without one does', async () => {
    const { id } = await play.create();
    await play.toReview(id);
    const review = await play.claim(id, play.reviewer);
    await expire();
    const late = await play.approve(id, play.reviewer, { lease_token: review.token }).expect(409);
    expect(late.body.code).toBe('lease_lost');
    await play.approve(id).expect(200);
  });

  it('the tokens that a late attempt cost are counted on it', async () => {
    const { id } = await play.create();
    const late = await play.claim(id);
    await expire();
    await play.claim(id, second.http);
    const report = { lease_token: late.token, tokens: { input: 500 } };
    await send(play.executor, id, 'usage', report).expect(200);
    expect(await play.task(id)).toMatchObject({ tokens_used: 500 });
    expect(await play.attempts(id)).toMatchObject([
      { usage: { tokens: { input: 500 } } },
      { usage: { tokens: { input: 0 } } },
    ]);
  });
});

describe('a holder that was stopped', () => {
  it.each([
    ['by a block', 'block', { kind: 'needs_input', reason: 'which account?' }, 'blocked'],
    ['by a cancellation', 'cancel', { reason: 'not wanted' }, 'cancelled'],
  ])('%s may still hand in; the state stays', async (_name, command, body, state) => {
    const { id } = await play.create();
    const held = await play.claim(id);
    await send(play.planner, id, command, body).expect(200);
    const beat = await send(play.executor, id, 'heartbeat', { lease_token: held.token }).expect(200);
    expect(beat.body).toMatchObject({ directive: 'stop', lease_expires_at: null });
    const { body: handedIn } = await play.submit(held).expect(200);
    expect(handedIn.state).toBe(state);
    expect((await play.attempts(id))[0]).toMatchObject({ outcome: 'stopped', result: 'posts.json' });
  });

  it('by a trip may hand in, and an unblock puts the task straight into review', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    const crossing = { lease_token: held.token, tokens: { input: 10_001 } };
    const { body } = await send(play.executor, id, 'usage', crossing).expect(200);
    expect(body).toMatchObject({ state: 'blocked', trip: { kind: 'token', value: 10_001, limit: 10_000 } });
    await play.unblock(id, play.planner, { to: 'in_review', reset_tokens: true }).expect(409);
    await play.submit(held).expect(200);
    const { body: lifted } = await play
      .unblock(id, play.planner, { to: 'in_review', changes: { limits: { max_tokens: 50_000 } } })
      .expect(200);
    expect(lifted).toMatchObject({ state: 'in_review', attempt: 1 });

    const again = await play
      .submit(held, play.executor, { result: 'swapped under the reviewer' })
      .expect(409);
    expect(again.body.code).toBe('invalid_transition');
    await play.approve(id).expect(200);
    await play.submit(held, play.executor, { result: 'swapped after the verdict' }).expect(409);
    await play.fail(held).expect(409);
    expect(await play.task(id)).toMatchObject({ state: 'done', attempt: 1 });
    expect((await play.attempts(id))[0]).toMatchObject({ result: 'posts.json', error: null });
  });

  it('may hand in after an unblock to pending too, until the next attempt starts', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    await send(play.planner, id, 'block', { kind: 'other', reason: 'wait' }).expect(200);
    await play.unblock(id).expect(200);
    expect((await play.submit(held).expect(200)).body.state).toBe('pending');
    await play.claim(id, second.http);
    expect((await play.submit(held).expect(409)).body.code).toBe('lease_lost');
    expect((await play.attempts(id))[0]).toMatchObject({ result: 'posts.json', late_result: 'posts.json' });
  });

  it('whose submission itself crossed the limit has handed in, and only once', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    const usage = { tokens: { output: 10_001 } };
    expect((await play.submit(held, play.executor, { usage }).expect(200)).body).toMatchObject({
      state: 'blocked',
      trip: { kind: 'token' },
    });
    expect((await play.submit(held).expect(409)).body.code).toBe('invalid_transition');
    const { body } = await play
      .unblock(id, play.planner, { to: 'in_review', reset_tokens: true })
      .expect(200);
    expect(body).toMatchObject({ state: 'in_review', unblock_count: 1, tokens_used: 0 });
  });
});
