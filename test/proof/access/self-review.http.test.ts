import type TestAgent from 'supertest/lib/agent.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type SecondApp,
  startSecondApp,
  startTestApp,
  type TestApp,
  type TestCaller,
} from '../../support/app.js';
import { type Held, Play, send } from '../../support/play.js';
import { SOAK } from '../../support/soak.js';

let app: TestApp;
let other: SecondApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp();
  other = await startSecondApp(app);
  play = new Play(app);
});
afterEach(async () => {
  expect(await ownVerdicts()).toEqual([]);
  await play.expectSound();
});
afterAll(async () => {
  await other.close();
  await app.close();
});

/** Attempts with a verdict by somebody who worked on them or on an earlier one. */
async function ownVerdicts(): Promise<unknown[]> {
  const { rows } = await app.pool.query(
    `SELECT a.task_id, a.number FROM attempts a JOIN attempts w ON w.task_id = a.task_id AND w.number <= a.number
      AND w.agent_id::text = a.verdict->>'by'`,
  );
  return rows;
}

/** A task in review that this agent has worked on. */
async function workOf(agent: TestAgent): Promise<string> {
  const { id } = await play.create({ limits: { max_reworks: 100 } });
  const { token } = await play.claim(id, agent, { for: 'work' });
  await send(agent, id, 'submit', { lease_token: token, result: 'posts.json' }).expect(200);
  return id;
}

/** One more key of an agent. */
async function secondKeyOf({ id }: TestCaller): Promise<string> {
  return (await play.operator.post(`/v1/agents/${id}/keys`).send({}).expect(201)).body.api_key;
}

/** Every way to a verdict, and to the lease that it may carry. */
async function expectNoVerdict(id: string, agent: TestAgent): Promise<void> {
  const tries = [
    play.approve(id, agent),
    play.approve(id, agent, { note: 'it is good' }),
    play.rework(id, agent),
    play.rework(id, agent, { class: 'infrastructure' }),
    send(agent, id, 'claim', { for: 'review' }),
  ];
  for (const one of tries) expect((await one.expect(403)).body.code).toBe('self_review');
  expect(await play.task(id)).toMatchObject({ state: 'in_review', review_failures: 0 });
}

describe('nobody judges their own work', () => {
  it('with the key by which they did it', async () => {
    const hands = await app.newAgent('executor', 'reviewer');
    const id = await workOf(hands.http);
    await expectNoVerdict(id, hands.http);
    const labels = [`of ${id}`];
    await play.operator.patch(`/v1/tasks/${id}`).set('if-match', '*').send({ labels }).expect(200);
    await hands.http.post('/v1/tasks/claim').send({ for: 'review', labels }).expect(204);
  });

  it('with a second key of the same agent, in either process', async () => {
    const hands = await app.newAgent('executor', 'reviewer');
    const id = await workOf(hands.http);
    const key = await secondKeyOf(hands);
    await expectNoVerdict(id, app.withKey(key));
    await expectNoVerdict(id, other.withKey(key));
  });

  it('as the operator, who judges anybody else’s', async () => {
    const hands = await app.newAgent('executor', 'operator');
    const id = await workOf(hands.http);
    await expectNoVerdict(id, hands.http);
    await play.approve(await workOf(play.executor), hands.http).expect(200);
  });

  it('after somebody else has done an attempt of the task too, whatever became of the first', async () => {
    const endings: readonly ((held: Held, agent: TestAgent) => Promise<unknown>)[] = [
      async (held, agent) => {
        await play.submit(held, agent).expect(200);
        await play.rework(held.id).expect(200);
      },
      (held, agent) => play.fail(held, agent).expect(200),
      (held, agent) => send(agent, held.id, 'release', { lease_token: held.token }).expect(200),
      async ({ id }) => {
        app.clock.advance(301);
        await app.tasks.sweep();
        expect((await play.task(id)).state).toBe('pending');
      },
      async ({ id }) => {
        await send(play.planner, id, 'block', { kind: 'other', reason: 'wait' }).expect(200);
        await play.unblock(id).expect(200);
      },
    ];
    for (const end of endings) {
      const hands = await app.newAgent('executor', 'operator');
      const { id } = await play.create();
      await end(await play.claim(id, hands.http, { for: 'work' }), hands.http);
      await play.toReview(id);
      await expectNoVerdict(id, hands.http);
      await play.approve(id).expect(200);
    }
  });

  it('by replacing the task with another of the same work', async () => {
    const hands = await app.newAgent('executor', 'operator');
    const { id } = await play.create({ supersedes: await workOf(hands.http) });
    await play.toReview(id);
    await expectNoVerdict(id, hands.http);
    await play.approve(id).expect(200);
  });

  it('by sending again, with the same Idempotency-Key, what another reviewer sent', async () => {
    const hands = await app.newAgent('executor', 'reviewer');
    const id = await workOf(hands.http);
    const rework = (agent: TestAgent) =>
      send(agent, id, 'rework', { reason: 'twenty are missing' }).set('idempotency-key', 'the verdict');
    expect((await rework(hands.http).expect(403)).body.code).toBe('self_review');
    await rework(play.reviewer).expect(200);
    const again = await rework(hands.http).expect(403);
    expect(again.body.code).toBe('self_review');
    expect(again.headers['idempotency-replayed']).toBeUndefined();
  });
});

describe('a verdict that races the work', () => {
  /** Sends all at once, turn by turn to either process. */
  async function atOnce(
    sends: readonly ((agent: TestAgent) => PromiseLike<{ status: number }>)[],
    keys: string[],
  ) {
    const answers = await Promise.all(
      sends.map((one, n) => one((n % 2 === 0 ? app : other).withKey(keys[n % keys.length] ?? ''))),
    );
    return answers.map(({ status }) => status);
  }

  it('of the same agent never stands, whichever comes first', async () => {
    const hands = await app.newAgent('executor', 'reviewer');
    const keys = [hands.key, await secondKeyOf(hands)];
    for (let round = 0; round < 10 * SOAK; round += 1) {
      const { id } = await play.create();
      const { token } = await play.claim(id, hands.http, { for: 'work' });
      const statuses = await atOnce(
        [
          (agent) => send(agent, id, 'submit', { lease_token: token, result: 'posts.json' }),
          (agent) => play.approve(id, agent),
          (agent) => play.rework(id, agent),
          (agent) => send(agent, id, 'claim', { for: 'review' }),
          (agent) => play.approve(id, agent),
        ],
        keys,
      );
      expect(statuses).toEqual([200, 403, 403, 403, 403]);
      expect((await play.task(id)).state).toBe('in_review');
    }
  });

  it('stands only if it came before the agent took the work', async () => {
    const hands = await app.newAgent('executor', 'reviewer');
    const keys = [hands.key, await secondKeyOf(hands)];
    for (let round = 0; round < 10 * SOAK; round += 1) {
      const id = await workOf(play.executor);
      const [reworked, claimed, approved] = await atOnce(
        [
          () => play.rework(id),
          (agent) => send(agent, id, 'claim', { for: 'work' }),
          (agent) => play.approve(id, agent),
        ],
        keys,
      );
      const { state, attempt } = await play.task(id);
      if (approved === 200) expect([reworked, claimed, state, attempt]).toEqual([409, 409, 'done', 1]);
      else expect([reworked, state]).toEqual([200, claimed === 200 ? 'in_progress' : 'rework']);
    }
  });
});
