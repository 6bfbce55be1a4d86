import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play, send } from '../../support/play.js';

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

const spent = (input: number) => ({ tokens: { input } });

/** A task under review, and the lease of its reviewer. */
async function underReview() {
  const { id } = await play.create();
  const worked = await play.toReview(id);
  return { id, worked, review: await play.claim(id, play.reviewer) };
}

describe('a reviewer whose task was stopped', () => {
  it('is told to stop, and why', async () => {
    const { id, worked, review } = await underReview();
    const late = { lease_token: worked.token, ...spent(10_001) };
    expect((await send(play.executor, id, 'usage', late).expect(200)).body.state).toBe('blocked');
    const { body } = await send(play.reviewer, id, 'heartbeat', { lease_token: review.token }).expect(200);
    expect(body).toMatchObject({ directive: 'stop', lease_expires_at: null });
    expect(body.reason).toContain('the token limit was reached');
  });

  it('is told so of a block and a cancel by hand too, and what it used is counted', async () => {
    const { id, review } = await underReview();
    await send(play.planner, id, 'block', { kind: 'other', reason: 'wait' }).expect(200);
    const sign = { lease_token: review.token, usage: spent(40) };
    expect((await send(play.reviewer, id, 'heartbeat', sign).expect(200)).body.directive).toBe('stop');
    await send(play.planner, id, 'cancel', { reason: 'not wanted' }).expect(200);
    expect((await send(play.reviewer, id, 'heartbeat', sign).expect(200)).body.directive).toBe('stop');
    expect(await play.task(id)).toMatchObject({ state: 'cancelled', tokens_used: 80 });
  });

  it('is nobody any more once another review has begun', async () => {
    const { id, review } = await underReview();
    await send(play.planner, id, 'block', { kind: 'other', reason: 'wait' }).expect(200);
    await play.unblock(id, play.planner, { to: 'in_review' }).expect(200);
    const other = await app.newAgent('reviewer');
    await play.claim(id, other.http);
    const { body } = await send(play.reviewer, id, 'heartbeat', { lease_token: review.token }).expect(409);
    expect(body.code).toBe('lease_lost');
  });
});

describe('a review that is over', () => {
  it('may still be charged by whoever did it: the tokens are spent', async () => {
    const { id, review } = await underReview();
    await play.approve(id, play.reviewer, { lease_token: review.token }).expect(200);
    const report = { lease_token: review.token, ...spent(70) };
    expect((await send(play.reviewer, id, 'usage', report).expect(200)).body).toMatchObject({
      state: 'done',
      tokens_used: 70,
    });
    const other = await app.newAgent('reviewer');
    expect((await send(other.http, id, 'usage', report).expect(409)).body.code).toBe('lease_lost');
  });

  it('that ran out or was given back is no longer held', async () => {
    const { id, review } = await underReview();
    await send(play.reviewer, id, 'release', { lease_token: review.token }).expect(200);
    const sign = { lease_token: review.token };
    expect((await send(play.reviewer, id, 'heartbeat', sign).expect(409)).body.code).toBe('lease_lost');
  });
});

it('one agent cannot be excluded from a task and be the only one to work on it', async () => {
  const { id } = await play.create();
  const { id: agent } = await app.newAgent('executor');
  await send(play.planner, id, 'block', { kind: 'other', reason: 'wait' }).expect(200);
  const changes = { excluded_agent_id: agent, assigned_agent_id: agent };
  const { body } = await play.unblock(id, play.planner, { changes }).expect(400);
  expect(body.errors).toMatchObject([{ pointer: '/changes/assigned_agent_id' }]);
});
