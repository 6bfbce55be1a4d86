import type TestAgent from 'supertest/lib/agent.js';
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

async function inReview(): Promise<string> {
  const { id } = await play.create();
  await play.toReview(id);
  return id;
}

const keyed = (id: string, key: string, agent = play.reviewer, reason = 'not yet') =>
  send(agent, id, 'rework', { reason }).set('idempotency-key', key);

describe('a reviewer answers twice', () => {
  it('with one key: the same answer, counted once', async () => {
    const id = await inReview();
    const first = await keyed(id, 'twice').expect(200);
    const second = await keyed(id, 'twice').expect(200);
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(first.headers['idempotency-replayed']).toBeUndefined();
    expect((await play.task(id)).rework_count).toBe(1);
  });

  it('with a new key, or none, on the same attempt: it has its verdict', async () => {
    const id = await inReview();
    await keyed(id, 'old').expect(200);
    const other = await keyed(id, 'new').expect(409);
    expect(other.body).toMatchObject({ code: 'verdict_already_recorded', attempt: 1, rework_count: 1 });
    expect((await play.approve(id).expect(409)).body.code).toBe('verdict_already_recorded');
    expect((await play.task(id)).rework_count).toBe(1);
  });

  it('with one key and other words: the key was used', async () => {
    const id = await inReview();
    await keyed(id, 'words').expect(200);
    const other = await keyed(id, 'words', play.reviewer, 'something else').expect(422);
    expect(other.body.code).toBe('idempotency_key_reused');
  });

  it('twenty verdicts by four reviewers at once: exactly one stands', async () => {
    const id = await inReview();
    const reviewers = [play.reviewer];
    for (let more = 0; more < 3; more += 1) reviewers.push((await app.newAgent('reviewer')).http);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => play.rework(id, reviewers[i % 4])),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status === 409).map(({ body }) => body.code);
    expect(refused).toEqual(Array(19).fill('verdict_already_recorded'));
    expect((await play.task(id)).rework_count).toBe(1);
  });

  it('a verdict that names attempt 1 while attempt 2 is in review is stale', async () => {
    const id = await inReview();
    await play.rework(id).expect(200);
    await play.toReview(id);
    const stale = await play.rework(id, play.reviewer, { attempt: 1 }).expect(409);
    expect(stale.body).toMatchObject({ code: 'stale_attempt', attempt: 2, state: 'in_review' });
    expect((await play.approve(id, play.reviewer, { attempt: 1 }).expect(409)).body.code).toBe(
      'stale_attempt',
    );
    await play.approve(id, play.reviewer, { attempt: 2 }).expect(200);
  });
});

describe('the same mistake, made differently', () => {
  it('twenty parallel requests with one key: one verdict, twenty equal answers', async () => {
    const id = await inReview();
    const answers = await Promise.all(Array.from({ length: 20 }, () => keyed(id, 'storm')));
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body).toEqual(answers[0]?.body);
    }
    expect(answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true')).toHaveLength(19);
    expect((await play.task(id)).rework_count).toBe(1);
  });

  it('by two keys of one agent, which are one agent', async () => {
    const { body: reviewer } = await play.operator
      .post('/v1/agents')
      .send({ name: 'two keys', roles: ['reviewer'] })
      .expect(201);
    const { body: second } = await play.operator.post(`/v1/agents/${reviewer.id}/keys`).send({}).expect(201);
    const hands: TestAgent[] = [app.withKey(reviewer.api_key), app.withKey(second.api_key)];
    const [one, two] = hands;
    const id = await inReview();
    await keyed(id, 'same agent', one).expect(200);
    const replay = await keyed(id, 'same agent', two).expect(200);
    expect(replay.headers['idempotency-replayed']).toBe('true');

    const other = await inReview();
    const review = await play.claim(other, one);
    expect(await play.claim(other, two)).toEqual(review);
    await play.approve(other, two, { lease_token: review.token }).expect(200);
  });

  it('an operator judges as a reviewer does, once, and not its own work', async () => {
    const id = await inReview();
    await play.rework(id, play.operator).expect(200);
    expect((await play.approve(id, play.operator).expect(409)).body.code).toBe('verdict_already_recorded');
    const hands = await app.newAgent('operator', 'executor');
    const held = await play.claim(id, hands.http, { for: 'work' });
    await play.submit(held, hands.http).expect(200);
    expect((await play.approve(id, hands.http).expect(403)).body.code).toBe('self_review');
    await play.approve(id, play.operator).expect(200);
  });

  it('one key of two agents are two keys', async () => {
    const other = await app.newAgent('reviewer');
    const first = await inReview();
    const second = await inReview();
    await keyed(first, 'shared').expect(200);
    const answer = await keyed(second, 'shared', other.http).expect(200);
    expect(answer.headers['idempotency-replayed']).toBeUndefined();
    await keyed(second, 'shared').expect(422);
  });

  it('a refusal is judged anew under the same key', async () => {
    const { id } = await play.create();
    expect((await keyed(id, 'too early').expect(409)).body.code).toBe('invalid_transition');
    await play.toReview(id);
    await keyed(id, 'too early').expect(200);
    expect((await play.task(id)).rework_count).toBe(1);
  });

  it('approve and rework at once: one of them stands', async () => {
    const other = await app.newAgent('reviewer');
    const id = await inReview();
    const answers = await Promise.all([play.approve(id), play.rework(id, other.http)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const { state } = await play.task(id);
    expect(state).toBe(answers[0]?.status === 200 ? 'done' : 'rework');
  });
});

describe('the same key on other commands', () => {
  it('a submission twice keeps one result, a creation twice makes one task', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    const submitted = await play.submit(held).set('idempotency-key', '"hand in"').expect(200);
    const again = await play.submit(held).set('idempotency-key', 'hand in').expect(200);
    expect(again.body).toEqual(submitted.body);
    expect((await play.submit(held).expect(409)).body.code).toBe('invalid_transition');

    const create = () =>
      play.planner.post('/v1/tasks').set('idempotency-key', 'one').send({ title: 'Once' }).expect(201);
    const ids = await Promise.all([create(), create(), create()]);
    expect(new Set(ids.map(({ body }) => body.id)).size).toBe(1);
  });

  it('usage reported twice counts once with a key, and twice without', async () => {
    const { id } = await play.create();
    const held = await play.claim(id);
    const report = () =>
      send(play.executor, id, 'usage', { lease_token: held.token, tokens: { input: 100, output: 20 } });
    await report().set('idempotency-key', 'u1').expect(200);
    expect((await report().set('idempotency-key', 'u1').expect(200)).body.tokens_used).toBe(120);
    expect((await report().expect(200)).body.tokens_used).toBe(240);
  });
});
