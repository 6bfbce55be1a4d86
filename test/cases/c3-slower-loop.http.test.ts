import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { Play } from '../support/play.js';

let app: TestApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp({ config: { FUSEBOARD_MAX_ITERATIONS: '1000' } });
  play = new Play(app);
});
afterEach(() => play.expectSound());
afterAll(() => app.close());

const HIGH = { severity: 'HIGH', action_required: 'BLOCKER_ESCALATION', kind: 'rework' };

/** Tripped and unblocked so many times, each time with something changed, and tripped once more. */
async function trippedAfter(unblocks: number): Promise<string> {
  const { id } = await play.create({ limits: { max_reworks: 1 } });
  await play.tripByRework(id, 1);
  for (let time = 1; time <= unblocks; time += 1) {
    await play.unblock(id, play.planner, { changes: { description: `version ${time}` } }).expect(200);
    await play.tripByRework(id, 1);
  }
  return id;
}

const patch = (id: string, fields: object) =>
  play.planner.patch(`/v1/tasks/${id}`).set('if-match', '*').send(fields);

describe('the planner as a slower loop', () => {
  it('must change something from the second unblock on, and gives way to an operator after the third', async () => {
    const { id } = await play.create();
    await play.tripByRework(id);
    await play.unblock(id).expect(200);
    expect(await play.tripByRework(id)).toMatchObject({ rework_count: 5, rework_total: 10, trip_count: 2 });

    const unchanged = await play.unblock(id).expect(422);
    expect(unchanged.body.code).toBe('nothing_changed');
    const second = await play
      .unblock(id, play.planner, { changes: { acceptance: ['20 posts are stored'] } })
      .expect(200);
    expect(second.body).toMatchObject({
      state: 'pending',
      acceptance: ['20 posts are stored'],
      unblock_count: 2,
      rework_total: 10,
    });
    await play.tripByRework(id);

    await patch(id, { description: 'Twenty posts are enough.' }).expect(200);
    expect((await play.unblock(id).expect(200)).body.unblock_count).toBe(3);

    const last = await play.tripByRework(id);
    expect(last).toMatchObject({ rework_total: 20, trip: HIGH });
    const changes = { description: 'Ten.' };
    const refused = await play.unblock(id, play.planner, { changes }).expect(403);
    expect(refused.body).toMatchObject({
      code: 'escalation_required',
      next_actions: [{ path: `/v1/tasks/${id}/unblock`, role: 'operator' }],
    });
    expect(await play.events(id, 'guard.refused')).toHaveLength(1);
    const { body } = await play.unblock(id, play.operator).expect(200);
    expect(body).toMatchObject({ state: 'pending', unblock_count: 4, rework_total: 20 });
  });

  it('asks nothing of an operator but a reason', async () => {
    const id = await trippedAfter(1);
    await play.unblock(id, play.operator).expect(200);
  });
});

describe('what counts as a change', () => {
  it.each([
    ['a PATCH of the acceptance while it is blocked', { acceptance: ['one post'] }],
    ['a PATCH of the title', { title: 'Fetch a post' }],
  ])('%s', async (_name, fields) => {
    const id = await trippedAfter(1);
    await patch(id, fields).expect(200);
    await play.unblock(id).expect(200);
  });

  it.each([
    ['a PATCH to what it is already', { description: 'version 1' }],
    ['a PATCH of the priority', { priority: 0 }],
    ['a PATCH of the labels', { labels: ['again'] }],
  ])('and what does not: %s', async (_name, fields) => {
    const id = await trippedAfter(1);
    await patch(id, fields).expect(200);
    expect((await play.unblock(id).expect(422)).body.code).toBe('nothing_changed');
  });

  it('and what does not: a PATCH before it tripped, or the same words in the form', async () => {
    const { id } = await play.create({ limits: { max_reworks: 1 } });
    await play.tripByRework(id, 1);
    await play.unblock(id).expect(200);
    await patch(id, { description: 'changed in time' }).expect(200);
    await play.tripByRework(id, 1);
    await play.unblock(id).expect(422);
    const same = { description: 'changed in time', acceptance: [] };
    await play.unblock(id, play.planner, { changes: same }).expect(422);
  });

  it.each([
    ['a limit', async () => ({ limits: { max_reworks: 2 } })],
    ['a dependency', async () => ({ depends_on: [(await play.done()).id] })],
    ['an agent that is excluded', async () => ({ excluded_agent_id: (await app.newAgent('executor')).id })],
    [
      'an agent that it is given to',
      async () => ({ assigned_agent_id: (await app.newAgent('executor')).id }),
    ],
  ])('%s in the form', async (_name, changes) => {
    const id = await trippedAfter(1);
    await play.unblock(id, play.planner, { changes: await changes() }).expect(200);
  });
});

describe('the same loop by re-creation', () => {
  const supersede = (old: string, fields: object = {}) =>
    play.planner
      .post('/v1/tasks')
      .send({ title: 'Again', limits: { max_reworks: 1 }, supersedes: old, ...fields });

  it('carries totals and unblocks on, and must change something too', async () => {
    const first = await trippedAfter(0);
    const { body: second } = await supersede(first).expect(201);
    expect(second).toMatchObject({
      rework_count: 0,
      rework_total: 1,
      unblock_count: 1,
      trip_count: 1,
      attempt: 0,
    });
    expect(await play.tripByRework(second.id, 1)).toMatchObject({ rework_total: 2 });
    expect((await supersede(second.id).expect(422)).body.code).toBe('nothing_changed');
    const { body: third } = await supersede(second.id, { description: 'Another way' }).expect(201);
    expect(third.unblock_count).toBe(2);
    await play.tripByRework(third.id, 1);
    const { body: fourth } = await supersede(third.id, { description: 'A third way' }).expect(201);
    expect(await play.tripByRework(fourth.id, 1)).toMatchObject({ rework_total: 4, trip: HIGH });
    const refused = await supersede(fourth.id, { description: 'A fourth way' }).expect(403);
    expect(refused.body.code).toBe('escalation_required');
    await play.operator.post('/v1/tasks').send({ title: 'By a person', supersedes: fourth.id }).expect(201);
  });

  it('is not escaped by giving the task up first', async () => {
    const tripped = await trippedAfter(3);
    expect(await play.task(tripped)).toMatchObject({ unblock_count: 3 });
    await play.planner.post(`/v1/tasks/${tripped}/cancel`).send({ reason: 'start afresh' }).expect(200);
    const refused = await supersede(tripped, { description: 'afresh' }).expect(403);
    expect(refused.body.code).toBe('escalation_required');
  });

  it('nor by giving up one that must change first', async () => {
    const tripped = await trippedAfter(1);
    await play.planner.post(`/v1/tasks/${tripped}/cancel`).send({ reason: 'start afresh' }).expect(200);
    const same = { description: 'version 1' };
    expect((await supersede(tripped, same).expect(422)).body.code).toBe('nothing_changed');
    expect((await supersede(tripped, { description: 'new' }).expect(201)).body.unblock_count).toBe(2);
  });

  it('nor by a higher max_unblocks, which is an operator’s to raise', async () => {
    const tripped = await trippedAfter(0);
    const refused = await supersede(tripped, { limits: { max_unblocks: 100 } }).expect(403);
    expect(refused.body.code).toBe('forbidden_role');
    await play.unblock(tripped, play.planner, { changes: { limits: { max_unblocks: 100 } } }).expect(403);
    const raised = { changes: { limits: { max_unblocks: 4 } } };
    expect((await play.unblock(tripped, play.operator, raised).expect(200)).body.limits.max_unblocks).toBe(4);
  });
});

it('a task over its token limit needs a higher one or a reset, by unblock as by re-creation', async () => {
  const { id } = await play.create({ limits: { max_tokens: 1_000 } });
  const held = await play.claim(id);
  const usage = { tokens: { input: 900, output: 200 } };
  await play.submit(held, play.executor, { usage }).expect(200);
  expect(await play.task(id)).toMatchObject({ state: 'blocked', block_reason: { kind: 'token' } });
  expect((await play.unblock(id).expect(422)).body).toMatchObject({
    code: 'still_over_limit',
    layers: [{ kind: 'token', value: 1_100, limit: 1_000 }],
  });
  const again = { title: 'Again', supersedes: id, limits: { max_tokens: 1_000 } };
  expect((await play.planner.post('/v1/tasks').send(again).expect(422)).body.code).toBe('still_over_limit');
  const reset = await play.unblock(id, play.planner, { reset_tokens: true, to: 'in_review' }).expect(200);
  expect(reset.body).toMatchObject({
    state: 'in_review',
    tokens_used: 0,
    tokens: { input: 900, output: 200 },
  });
});
