import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { Play, send } from '../support/play.js';

let app: TestApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp({ config: { FUSEBOARD_MAX_ITERATIONS: '10000' } });
  play = new Play(app);
});
afterEach(() => play.expectSound());
afterAll(() => app.close());

const create = (fields: object) => play.planner.post('/v1/tasks').send({ title: 'Another', ...fields });
const cancel = (id: string) => send(play.planner, id, 'cancel', { reason: 'given up' }).expect(200);

describe('escape by re-creation', () => {
  it('a blocked task holds its dedupe key; who names it in supersedes takes its totals along', async () => {
    const t1 = await play.create({ dedupe_key: 'posts' });
    await play.tripByRework(t1.id);
    const held = await create({ dedupe_key: 'posts' }).expect(409);
    expect(held.body).toMatchObject({ code: 'duplicate', task_id: t1.id, state: 'blocked' });
    const { body: t2 } = await create({ dedupe_key: 'posts', supersedes: t1.id }).expect(201);
    expect(t2).toMatchObject({
      supersedes: t1.id,
      rework_total: 5,
      unblock_count: 1,
      trip_count: 1,
      rework_count: 0,
    });
    expect(await play.task(t1.id)).toMatchObject({
      state: 'cancelled',
      superseded_by: t2.id,
      open_trip_id: null,
      block_reason: null,
    });
    const again = await create({ dedupe_key: 'posts' }).expect(409);
    expect(again.body.task_id).toBe(t2.id);
    const stale = await create({ dedupe_key: 'posts', supersedes: t1.id }).expect(409);
    expect(stale.body).toMatchObject({ code: 'duplicate', task_id: t2.id });
  });

  it('the key is free when its task is done, and not when it is cancelled', async () => {
    const done = await play.done({ dedupe_key: 'once' });
    const { body: next } = await create({ dedupe_key: 'once' }).expect(201);
    expect(next.id).not.toBe(done.id);
    await cancel(next.id);
    expect((await create({ dedupe_key: 'once' }).expect(409)).body.task_id).toBe(next.id);
    await create({ dedupe_key: 'once', supersedes: next.id }).expect(201);
  });

  it('twenty parallel creations with one key make one task', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ dedupe_key: 'rush' })));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    for (const { status, body } of answers) {
      if (status === 201) continue;
      expect(body).toMatchObject({ code: 'duplicate', task_id: made[0]?.body.id });
    }
  });

  it('one key twice in a plan makes nothing of the plan', async () => {
    const tasks = [
      { ref: 'a', title: 'A', dedupe_key: 'in a plan' },
      { ref: 'b', title: 'B', dedupe_key: 'in a plan' },
    ];
    expect((await play.planner.post('/v1/plans').send({ tasks }).expect(409)).body.code).toBe('duplicate');
    await create({ dedupe_key: 'in a plan' }).expect(201);
  });

  it('ten parallel successors of one task: one takes its place', async () => {
    const old = await play.create();
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ supersedes: old.id })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect((await play.task(old.id)).state).toBe('cancelled');
  });

  it('a done task cannot be replaced, nor one that is not there', async () => {
    const done = await play.done();
    expect((await create({ supersedes: done.id }).expect(409)).body.code).toBe('invalid_transition');
    const nobody = 'task_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b';
    expect((await create({ supersedes: nobody }).expect(404)).body.code).toBe('not_found');
    await create({ supersedes: 'task_1' }).expect(400);
  });

  it('a key is taken again while its task is approved', async () => {
    const a = await play.create({ dedupe_key: 'handover' });
    await play.toReview(a.id);
    const [, made] = await Promise.all([play.approve(a.id).expect(200), create({ dedupe_key: 'handover' })]);
    expect([201, 409]).toContain(made.status);
    if (made.status === 409) expect(made.body.state).not.toBe('done');
  });
});
