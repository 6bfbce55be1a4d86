import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play } from '../../support/play.js';

let app: TestApp;
let play: Play;
beforeEach(async () => {
  app = await startTestApp();
  play = new Play(app);
});
afterEach(() => app.close());

const simulate = (body: object, agent = play.planner) =>
  agent.post('/v1/projects/current/simulate').send(body);

/** Claimed, handed in with so many tokens and sent back. */
async function lap(id: string, input: number): Promise<void> {
  const held = await play.claim(id);
  await play.submit(held, play.executor, { usage: { tokens: { input }, cost_usd: 0.01 } }).expect(200);
  await play.rework(id).expect(200);
}

async function timeOf(id: string, type: string, nth: number): Promise<unknown> {
  const { body } = await play.planner.get(`/v1/events?task_id=${id}&type=${type}`).expect(200);
  return body.data[nth - 1].at;
}

describe('a simulation', () => {
  it('says where a tighter limit would have stopped, and what the rest would not have cost', async () => {
    const { id } = await play.create();
    for (const tokens of [100, 200, 300, 400, 500]) await lap(id, tokens);
    const { body } = await simulate({ limits: { max_reworks: 2 } }).expect(200);
    expect(body).toEqual({
      stopped: [
        { task_id: id, kind: 'rework', at: await timeOf(id, 'task.rework_requested', 2), value: 2, limit: 2 },
      ],
      stopped_count: 1,
      saved: { iterations: 3, reworks: 3, tokens: 1_200, cost_usd: 0.03 },
      read_events: expect.any(Number),
      proposal: null,
    });
  });

  it('goes on where the log unblocks the task, and stops it again', async () => {
    const { id } = await play.create();
    for (const tokens of [100, 100, 100, 100, 100]) await lap(id, tokens);
    await play.unblock(id).expect(200);
    for (const tokens of [100, 100, 100, 100]) await lap(id, tokens);
    const { body } = await simulate({ limits: { max_reworks: 3 } }).expect(200);
    expect(body.stopped.map((stop: { value: number }) => stop.value)).toEqual([3, 3]);
    expect(body.saved).toEqual({ iterations: 3, reworks: 3, tokens: 300, cost_usd: 0.03 });
  });

  it('stays stopped where the unblock would have been refused', async () => {
    const { id } = await play.create();
    for (const tokens of [100, 100, 100, 100, 100]) await lap(id, tokens);
    await play.unblock(id).expect(200);
    await lap(id, 100);
    const { body } = await simulate({ limits: { max_tokens: 250 } }).expect(200);
    expect(body.stopped).toMatchObject([{ kind: 'token', value: 300, limit: 250 }]);
    expect(body.saved).toMatchObject({ reworks: 4, tokens: 300 });
  });

  it('does not count what an unstarted attempt used when it goes on', async () => {
    const { id } = await play.create();
    for (const tokens of [100, 100, 1_000, 1_000, 1_000]) await lap(id, tokens);
    await play.unblock(id).expect(200);
    await lap(id, 100);
    const { body } = await simulate({ limits: { max_reworks: 2, max_tokens: 400 } }).expect(200);
    expect(body.stopped).toMatchObject([{ kind: 'rework', value: 2 }]);
    expect(body.saved.tokens).toBe(3_000);
  });

  it('stops a run, and what would have started in it until it is recovered', async () => {
    const { body: run } = await play.planner.post('/v1/runs').send({ name: 'night' }).expect(201);
    const [a, b] = [await play.create({ run_id: run.id }), await play.create({ run_id: run.id })];
    await lap(a.id, 10);
    await lap(b.id, 10);
    await lap(a.id, 10);
    await lap(b.id, 10);
    const { body } = await simulate({ limits: { max_iterations: 3 } }).expect(200);
    expect(body.stopped).toMatchObject([{ run_id: run.id, kind: 'iteration', value: 3, limit: 3 }]);
    expect(body.saved).toMatchObject({ iterations: 1, reworks: 1, tokens: 10 });
  });

  it('stands over the limits that tasks and runs set themselves; what is left out stays theirs', async () => {
    const { id } = await play.create({ limits: { max_reworks: 50, max_tokens: 150 } });
    await lap(id, 100);
    const usage = { tokens: { input: 100 } };
    await play.submit(await play.claim(id), play.executor, { usage }).expect(200);
    const under = async (limits: object) =>
      (await simulate({ limits }).expect(200)).body.stopped.map((stop: { kind: string }) => stop.kind);
    expect(await under({})).toEqual(['token']);
    expect(await under({ max_reworks: 1 })).toEqual(['rework']);
    expect(await under({ max_tokens: 1_000 })).toEqual([]);
  });

  it('saves nothing of what a stopped holder still reports, also when the task is then given up', async () => {
    const { id } = await play.create({ limits: { max_tokens: 600 } });
    const held = await play.claim(id);
    const spent = (input: number) => ({ lease_token: held.token, tokens: { input } });
    await play.executor.post(`/v1/tasks/${id}/usage`).send(spent(700)).expect(200);
    await play.planner.post(`/v1/tasks/${id}/cancel`).send({ reason: 'not wanted' }).expect(200);
    await play.executor.post(`/v1/tasks/${id}/usage`).send(spent(100)).expect(200);
    const { body } = await simulate({ limits: {} }).expect(200);
    expect(body.stopped).toMatchObject([{ task_id: id, kind: 'token', value: 700 }]);
    expect(body.saved).toEqual({ iterations: 0, reworks: 0, tokens: 0, cost_usd: 0 });
  });

  it('stops nothing before the moment asked', async () => {
    const { id } = await play.create();
    for (const tokens of [100, 100, 100]) await lap(id, tokens);
    const since = await timeOf(id, 'task.rework_requested', 3);
    const { body } = await simulate({ limits: { max_reworks: 2 }, since }).expect(200);
    expect(body).toMatchObject({ stopped: [{ kind: 'rework', value: 3, at: since }], saved: { reworks: 0 } });
  });

  it('changes nothing and is for those who plan', async () => {
    const { id } = await play.create();
    await lap(id, 10);
    const before = (await play.events(id)).length;
    await simulate({ limits: { max_reworks: 1 } }, play.operator).expect(200);
    expect(await play.events(id)).toHaveLength(before);
    expect((await play.task(id)).state).toBe('rework');
    await simulate({}, play.executor).expect(403);
    await simulate({ limits: { max_unblocks: 1 } }).expect(400);
    await simulate({ limits: { max_reworks: 0 } }).expect(400);
  });
});

describe('the log', () => {
  it('has every limit that a replay needs, when it is set and when it changes', async () => {
    const facts = async (type: string) => {
      const { body } = await play.planner.get(`/v1/events?type=${type}&limit=200`).expect(200);
      return body.data.at(-1).data;
    };
    const deadline = '2099-01-01T00:00:00.000Z';
    const planned = { run: { name: 'a', deadline_at: deadline }, tasks: [{ ref: 'a', title: 'a' }] };
    const { body: plan } = await play.planner.post('/v1/plans').send(planned).expect(201);
    expect(await facts('run.created')).toEqual({
      name: 'a',
      iteration_mode: 'total',
      limits: {},
      deadline_at: deadline,
    });
    await play.planner
      .patch(`/v1/runs/${plan.run_id}`)
      .set('if-match', '*')
      .send({ limits: { max_iterations: 7 }, deadline_at: null })
      .expect(200);
    expect(await facts('run.updated')).toMatchObject({ limits: { max_iterations: 7 }, deadline_at: null });
    await play.operator
      .patch(`/v1/tasks/${plan.tasks[0].id}`)
      .set('if-match', '*')
      .send({ limits: { max_errors: 2 } })
      .expect(200);
    expect(await facts('task.updated')).toEqual({
      changed: ['limits'],
      limits: { max_errors: 2 },
      guard: expect.anything(),
    });
  });
});

describe('a proposal', () => {
  it('leaves a quarter above what finished tasks needed, and says how few they are', async () => {
    for (const tokens of [100, 410]) {
      const { id } = await play.create();
      await lap(id, tokens);
      await play.submit(await play.claim(id), play.executor, { usage: { tokens: { input: 1 } } }).expect(200);
      await play.approve(id).expect(200);
    }
    const { id } = await play.create();
    for (const tokens of [900, 900, 900]) await lap(id, tokens);
    const { body } = await simulate({}).expect(200);
    expect(body).toMatchObject({
      stopped: [],
      proposal: {
        limits: { max_reworks: 2, max_errors: 2, max_review_failures: 2, max_attempts: 3, max_tokens: 520 },
        basis: {
          max_reworks: { p95: 1, sample: 2 },
          max_tokens: { p95: 411, sample: 2 },
          max_iterations: { sample: 0 },
        },
        sample: 2,
        small_sample: true,
      },
    });
    expect(body.proposal.note).toMatch(/^Only 2 finished tasks/);
    await simulate({ limits: body.proposal.limits }).expect(200);
  });
});
