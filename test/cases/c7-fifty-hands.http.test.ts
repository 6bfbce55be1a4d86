import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp, type TestCaller } from '../support/app.js';
import { Play, send } from '../support/play.js';

let app: TestApp;
let play: Play;
const hands: TestCaller[] = [];
beforeAll(async () => {
  app = await startTestApp({ config: { FUSEBOARD_MAX_ITERATIONS: '10000' } });
  play = new Play(app);
  for (let made = 0; made < 50; made += 1) hands.push(await app.newAgent('executor', 'reviewer'));
});
afterEach(() => play.expectSound());
afterAll(() => app.close());

const statuses = (answers: readonly { status: number }[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

async function iterations(): Promise<number> {
  const { rows } = await app.pool.query<{ n: number }>('SELECT iterations AS n FROM runs WHERE is_default');
  return rows[0]?.n ?? -1;
}

describe('one task, fifty hands', () => {
  it('that ask for the next: one has it, forty-nine have nothing', async () => {
    const { id } = await play.create();
    const answers = await Promise.all(hands.map(({ http }) => http.post('/v1/tasks/claim').send({})));
    expect(statuses(answers)).toEqual({ 200: 1, 204: 49 });
    const at = answers.findIndex(({ status }) => status === 200);
    expect(answers[at]?.body.claims).toMatchObject([{ task: { id }, attempt: 1, lease_token: 1 }]);
    await play.submit({ id, token: 1, attempt: 1 }, hands[at]?.http).expect(200);
  });

  it('that claim it by id: one has it, forty-nine are told who; and the winner may ask again', async () => {
    const before = await iterations();
    const { id } = await play.create();
    const answers = await Promise.all(hands.map(({ http }) => send(http, id, 'claim', { for: 'work' })));
    expect(statuses(answers)).toEqual({ 200: 1, 409: 49 });
    const at = answers.findIndex(({ status }) => status === 200);
    const holder = hands[at];
    for (const { status, body } of answers) {
      if (status === 200) continue;
      expect(body).toMatchObject({
        code: 'already_claimed',
        holder: { agent_id: holder?.id },
        holder_alive: true,
        retryable: true,
      });
      expect(body.lease_seconds_left).toBeGreaterThan(290);
    }
    const again = await send(holder?.http ?? play.executor, id, 'claim', { for: 'work' }).expect(200);
    const { attempt, lease_token, lease_expires_at } = answers[at]?.body ?? {};
    expect(again.body).toMatchObject({ attempt, lease_token, lease_expires_at });
    expect(await play.attempts(id)).toHaveLength(1);
    expect(await iterations()).toBe(before + 1);
    expect(await play.events(id, 'task.claimed')).toHaveLength(1);
  });

  it('fifty repeated claims of the winner are one attempt', async () => {
    const { id } = await play.create();
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(play.executor, id, 'claim')));
    expect(statuses(answers)).toEqual({ 200: 50 });
    expect(new Set(answers.map(({ body }) => body.lease_token)).size).toBe(1);
    expect(await play.attempts(id)).toHaveLength(1);
  });
});

describe('other crowds', () => {
  it('fifty reviewers before one attempt: one lease, one verdict', async () => {
    const { id } = await play.create();
    await play.toReview(id);
    const answers = await Promise.all(hands.map(({ http }) => send(http, id, 'claim', { for: 'review' })));
    expect(statuses(answers)).toEqual({ 200: 1, 409: 49 });
    const verdicts = await Promise.all(hands.map(({ http }) => play.approve(id, http)));
    expect(statuses(verdicts)).toEqual({ 200: 1, 409: 49 });
    expect((await play.task(id)).state).toBe('done');
  });

  it('fifty hands and thirty tasks: every task once', async () => {
    const tasks = Array.from({ length: 30 }, (_, i) => ({
      ref: `t${i}`,
      title: `Task ${i}`,
      labels: ['thirty'],
    }));
    await play.planner.post('/v1/plans').send({ tasks }).expect(201);
    const answers = await Promise.all(
      hands.map(({ http }) => http.post('/v1/tasks/claim').send({ labels: ['thirty'], for: 'work' })),
    );
    expect(statuses(answers)).toEqual({ 200: 30, 204: 20 });
    const taken = answers.flatMap(
      ({ body }) => body.claims?.map((c: { task: { id: string } }) => c.task.id) ?? [],
    );
    expect(new Set(taken).size).toBe(30);
  });

  it('ten hands that ask for up to seven each share thirty tasks, none twice', async () => {
    const tasks = Array.from({ length: 30 }, (_, i) => ({
      ref: `t${i}`,
      title: `Task ${i}`,
      labels: ['many'],
    }));
    await play.planner.post('/v1/plans').send({ tasks }).expect(201);
    const answers = await Promise.all(
      hands
        .slice(0, 10)
        .map(({ http }) => http.post('/v1/tasks/claim').send({ labels: ['many'], max: 7, for: 'work' })),
    );
    const taken = answers.flatMap(
      ({ body }) => body.claims?.map((c: { task: { id: string } }) => c.task.id) ?? [],
    );
    expect(taken).toHaveLength(30);
    expect(new Set(taken).size).toBe(30);
    for (const { body } of answers) expect(body.claims?.length ?? 0).toBeLessThanOrEqual(7);
  });

  it('fifty hands take one task in turn, each after the one before it gave it back', async () => {
    const { id } = await play.create({ limits: { max_attempts: 1000 } });
    let turns = 0;
    await Promise.all(
      hands.slice(0, 10).map(async ({ http }) => {
        for (let round = 0; round < 5; round += 1) {
          const claimed = await send(http, id, 'claim', { for: 'work' });
          if (claimed.status !== 200) continue;
          turns += 1;
          await send(http, id, 'release', { lease_token: claimed.body.lease_token }).expect(200);
        }
      }),
    );
    expect(await play.task(id)).toMatchObject({ state: 'pending', attempt: turns });
    expect((await play.attempts(id)).map(({ number }) => number)).toEqual(
      Array.from({ length: turns }, (_, i) => i + 1),
    );
  });
});
