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

describe('the night of the sixteen reworks', () => {
  it('ends at the fifth rework, and only somebody who plans may go on', async () => {
    const { id } = await play.create();
    for (const count of [1, 2, 3, 4]) {
      const sentBack = await play.lap(id);
      expect(sentBack).toMatchObject({ state: 'rework', rework_count: count });
      expect(await play.events(id, 'guard.warned')).toHaveLength(count === 4 ? 1 : 0);
    }
    const [warned] = await play.events(id, 'guard.warned');
    expect(warned?.data).toEqual({ kind: 'rework', value: 4, limit: 5, state: 'closed', warned: true });

    const fifth = await play.lap(id);
    expect(fifth).toMatchObject({
      state: 'blocked',
      block_reason: { kind: 'rework' },
      rework_count: 5,
      rework_total: 5,
      claimed_by: null,
      lease_expires_at: null,
      trip_count: 1,
      guard: { verdict: 'deny' },
      trip: {
        kind: 'rework',
        value: 5,
        limit: 5,
        over_percent: 0,
        severity: 'MEDIUM',
        action_required: 'AUTOMATIC_RECOVERY',
        state: 'open',
      },
    });
    expect(await play.attempts(id)).toHaveLength(5);
    expect((await play.attempts(id)).at(-1)).toMatchObject({ verdict: { approved: false, class: 'defect' } });
    expect(await play.events(id, 'guard.warned')).toHaveLength(1);

    const claimed = await send(play.executor, id, 'claim').expect(409);
    expect(claimed.body).toMatchObject({
      code: 'task_blocked',
      retryable: false,
      rework_count: 5,
      trip: { kind: 'rework', value: 5, limit: 5 },
      next_actions: [
        { method: 'POST', path: `/v1/tasks/${id}/unblock`, role: 'planner' },
        { method: 'GET', path: `/v1/tasks/${id}/guard` },
      ],
    });
    await play.executor.post('/v1/tasks/claim').send({}).expect(204);
    await play.rework(id).expect(409);
    expect(await play.task(id)).toMatchObject({ rework_count: 5, state: 'blocked' });
    await play.unblock(id, play.executor).expect(403);
    await play.unblock(id, play.reviewer).expect(403);
    await play.planner.patch(`/v1/tasks/${id}`).set('if-match', '*').send({ state: 'pending' }).expect(400);
    await play.unblock(id, play.planner, { reason: '' }).expect(400);

    const { body } = await play.unblock(id).expect(200);
    expect(body).toMatchObject({
      state: 'pending',
      rework_count: 0,
      rework_total: 5,
      claimed_by: null,
      unblock_count: 1,
      block_reason: null,
      open_trip_id: null,
    });
  });

  it('polling a blocked task writes one refusal for each agent, and no more', async () => {
    const { id } = await play.create();
    await play.tripByRework(id);
    const other = await app.newAgent('executor');
    for (let poll = 0; poll < 3; poll += 1) {
      await send(play.executor, id, 'claim').expect(409);
      await send(other.http, id, 'claim').expect(409);
    }
    const refused = await play.events(id, 'guard.refused');
    expect(refused).toHaveLength(2);
    expect(refused[0]?.data).toMatchObject({
      code: 'task_blocked',
      refused_command: 'claim',
      kind: 'rework',
    });
    await play.unblock(id).expect(200);
  });
});

describe('the same night, told differently', () => {
  it('by claims of the next task', async () => {
    const { id } = await play.create({ labels: ['next'], limits: { reassign_after: 100 } });
    for (const count of [1, 2, 3, 4, 5]) {
      const { body } = await play.executor
        .post('/v1/tasks/claim')
        .send({ labels: ['next'] })
        .expect(200);
      const [claim] = body.claims;
      expect(claim.task.id).toBe(id);
      await play.submit({ id, token: claim.lease_token, attempt: claim.attempt }).expect(200);
      expect((await play.rework(id).expect(200)).body.rework_count).toBe(count);
    }
    await play.executor
      .post('/v1/tasks/claim')
      .send({ labels: ['next'] })
      .expect(204);
    expect(await play.task(id)).toMatchObject({ state: 'blocked', rework_count: 5, attempt: 5 });
  });

  it('by an agent of several roles, which works and never judges itself', async () => {
    const many = await app.newAgent('planner', 'executor', 'reviewer');
    const { id } = await play.create();
    for (const count of [1, 2, 3, 4, 5]) {
      const held = await play.claim(id, many.http);
      expect(held.attempt).toBe(count);
      await play.submit(held, many.http).expect(200);
      expect((await play.rework(id, many.http).expect(403)).body.code).toBe('self_review');
      expect((await send(many.http, id, 'claim').expect(403)).body.code).toBe('self_review');
      expect((await play.rework(id).expect(200)).body.rework_count).toBe(count);
    }
    expect((await play.task(id)).state).toBe('blocked');
    await play.unblock(id, many.http).expect(200);
  });

  it.each([1, 2])('with room for %i', async (limit) => {
    const { id } = await play.create({ limits: { max_reworks: limit } });
    for (let lap = 1; lap < limit; lap += 1) expect((await play.lap(id)).state).toBe('rework');
    const last = await play.lap(id);
    expect(last).toMatchObject({ state: 'blocked', rework_count: limit, trip: { kind: 'rework', limit } });
    expect(await play.events(id, 'guard.warned')).toHaveLength(1);
  });

  it('with the limit of a run, and with a limit of the task over it', async () => {
    const { body: plan } = await play.planner
      .post('/v1/plans')
      .send({
        run: { name: 'strict', limits: { max_reworks: 2 } },
        tasks: [
          { ref: 'a', title: 'By the run' },
          { ref: 'b', title: 'By itself', limits: { max_reworks: 3 } },
        ],
      })
      .expect(201);
    const [a, b] = plan.tasks;
    await play.tripByRework(a.id, 2);
    await play.tripByRework(b.id, 3);
    const { body: guard } = await play.planner.get(`/v1/tasks/${b.id}/guard`).expect(200);
    expect(guard.limits.max_reworks).toEqual({ value: 3, from: 'task' });
    expect(guard.trip).toMatchObject({ kind: 'rework', limit: 3 });
  });

  it('with each verdict given under a review lease', async () => {
    const { id } = await play.create();
    for (const count of [1, 2, 3, 4, 5]) {
      await play.toReview(id);
      const review = await play.claim(id, play.reviewer);
      expect(review.attempt).toBe(count);
      const other = await app.newAgent('reviewer');
      expect((await play.rework(id, other.http).expect(409)).body.code).toBe('already_claimed');
      await play.rework(id, play.reviewer, { lease_token: review.token, attempt: count }).expect(200);
    }
    expect(await play.task(id)).toMatchObject({ state: 'blocked', rework_count: 5, lease_expires_at: null });
  });

  it('with reviews that fail for want of infrastructure between, which are no verdicts', async () => {
    const { id } = await play.create();
    for (const count of [1, 2, 3, 4, 5]) {
      await play.toReview(id);
      if (count % 2 === 0) {
        const { body } = await play.rework(id, play.reviewer, { class: 'infrastructure' }).expect(200);
        expect(body).toMatchObject({ state: 'in_review', rework_count: count - 1 });
      }
      await play.rework(id).expect(200);
    }
    expect(await play.task(id)).toMatchObject({ state: 'blocked', rework_count: 5, review_failures: 2 });
  });
});
