import type TestAgent from 'supertest/lib/agent.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { Play, send } from '../support/play.js';

let app: TestApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp({ config: { FUSEBOARD_MAX_ITERATIONS: '1000' } });
  play = new Play(app);
});
afterEach(() => play.expectSound());
afterAll(() => app.close());

/** How claims are made: by the ids of the tasks, or by asking for the next. */
type Taking = 'by id' | 'next';

async function countOf(sql: string, ...values: unknown[]): Promise<number> {
  const { rows } = await app.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${sql}`, values);
  return rows[0]?.n ?? -1;
}

/** Everybody at full speed until every task is blocked; answers how many of each command were granted. */
async function frenzy(
  ids: readonly string[],
  executors: readonly TestAgent[],
  reviewers: readonly TestAgent[],
  taking: Taking,
) {
  const blocked = new Set<string>();
  const granted = { claims: 0, reworks: 0 };
  const work = async (agent: TestAgent): Promise<void> => {
    while (blocked.size < ids.length) {
      for (const id of ids) {
        const claimed =
          taking === 'by id'
            ? await send(agent, id, 'claim')
            : await agent.post('/v1/tasks/claim').send({ labels: ['frenzy'] });
        const claim = taking === 'by id' ? claimed.body : claimed.body.claims?.[0];
        if (claimed.status !== 200) {
          expect(['task_blocked', 'already_claimed', 'invalid_transition', undefined]).toContain(
            claimed.body.code,
          );
          continue;
        }
        granted.claims += 1;
        await play
          .submit({ id: claim.task.id, token: claim.lease_token, attempt: claim.attempt }, agent)
          .expect(200);
      }
    }
  };
  const judge = async (agent: TestAgent): Promise<void> => {
    while (blocked.size < ids.length) {
      for (const id of ids) {
        const { status, body } = await play.rework(id, agent);
        if (status === 200) granted.reworks += 1;
        else expect(['verdict_already_recorded', 'invalid_transition', 'task_blocked']).toContain(body.code);
        if (body.state === 'blocked') blocked.add(id);
      }
    }
  };
  await Promise.all([...executors.map(work), ...reviewers.map(judge)]);
  return granted;
}

async function expectStopped(ids: readonly string[], reworks: number): Promise<void> {
  expect(await countOf(`events WHERE type = 'task.rework_requested' AND task_id = ANY($1)`, bare(ids))).toBe(
    ids.length * reworks,
  );
  expect(await countOf(`events WHERE type = 'task.claimed' AND task_id = ANY($1)`, bare(ids))).toBe(
    ids.length * reworks,
  );
  expect(
    await countOf(`tasks WHERE state = 'blocked' AND attempt = $2 AND id = ANY($1)`, bare(ids), reworks),
  ).toBe(ids.length);
  expect(
    await countOf(`trips WHERE state = 'open' AND kind = 'rework' AND task_id = ANY($1)`, bare(ids)),
  ).toBe(ids.length);
}

const bare = (ids: readonly string[]): string[] => ids.map((id) => id.replace('task_', ''));

async function seven(fields: Readonly<Record<string, unknown>> = {}): Promise<string[]> {
  const tasks = Array.from({ length: 7 }, (_, i) => ({ ref: `t${i}`, title: `Task ${i}`, ...fields }));
  const { body } = await play.planner.post('/v1/plans').send({ tasks }).expect(201);
  return body.tasks.map((task: { id: string }) => task.id);
}

describe('seven tasks at once', () => {
  it('are each sent back five times and no more, with two executors and two reviewers at full speed', async () => {
    const executors = [play.executor, (await app.newAgent('executor')).http];
    const reviewers = [play.reviewer, (await app.newAgent('reviewer')).http];
    const ids = await seven();
    const granted = await frenzy(ids, executors, reviewers, 'by id');
    expect(granted).toEqual({ claims: 35, reworks: 35 });
    await expectStopped(ids, 5);
    await play.executor.post('/v1/tasks/claim').send({}).expect(204);
  });

  it('also by claims of the next, with change of hands out of the way', async () => {
    const executors = [play.executor, (await app.newAgent('executor')).http];
    const reviewers = [play.reviewer, (await app.newAgent('reviewer')).http];
    const ids = await seven({ labels: ['frenzy'], limits: { reassign_after: 100 } });
    const granted = await frenzy(ids, executors, reviewers, 'next');
    expect(granted).toEqual({ claims: 35, reworks: 35 });
    await expectStopped(ids, 5);
  });

  it('with four reviewers who race for every verdict, and a limit of two', async () => {
    const reviewers = [play.reviewer];
    for (let more = 0; more < 3; more += 1) reviewers.push((await app.newAgent('reviewer')).http);
    const ids = await seven({ limits: { max_reworks: 2 } });
    const granted = await frenzy(ids, [play.executor], reviewers, 'by id');
    expect(granted).toEqual({ claims: 14, reworks: 14 });
    await expectStopped(ids, 2);
  });
});

it('in a run of 30 iterations they stop at the thirtieth claim', async () => {
  const tasks = Array.from({ length: 7 }, (_, i) => ({ ref: `t${i}`, title: `Task ${i}` }));
  const { body: plan } = await play.planner
    .post('/v1/plans')
    .send({ run: { name: 'thirty', limits: { max_iterations: 30 } }, tasks })
    .expect(201);
  const ids: string[] = plan.tasks.map((task: { id: string }) => task.id);
  const executors = [play.executor, (await app.newAgent('executor')).http];
  let stopped = 0;
  const work = async (agent: TestAgent): Promise<void> => {
    for (let round = 0; stopped < executors.length; round += 1) {
      const id = ids[round % ids.length] ?? '';
      const { status, body } = await send(agent, id, 'claim');
      if (status === 200) {
        await play.submit({ id, token: body.lease_token, attempt: body.attempt }, agent).expect(200);
        await play.rework(id).expect(200);
      } else if (body.code === 'run_tripped') {
        stopped += 1;
        return;
      }
    }
  };
  await Promise.all(executors.map(work));
  const { rows } = await app.pool.query(
    `SELECT state, iterations, (SELECT count(*)::int FROM trips t WHERE t.run_id = runs.id AND scope = 'run') AS trips FROM runs WHERE name = 'thirty'`,
  );
  expect(rows).toEqual([{ state: 'tripped', iterations: 30, trips: 1 }]);
});
