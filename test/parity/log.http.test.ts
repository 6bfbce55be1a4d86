import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVENT_TEXTS } from '../../scripts/docs/events.js';
import { edges } from '../../scripts/docs/state-machine.js';
import { startTestApp, type TestApp } from '../support/app.js';

interface LoggedEvent {
  readonly type: string;
  readonly task_id: string | null;
  readonly command: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly data: Record<string, unknown>;
}

let app: TestApp;
let log: LoggedEvent[];

beforeAll(async () => {
  app = await startTestApp();
  await live();
  const page = await app.as('operator').get('/v1/events?limit=200').expect(200);
  expect(page.body.has_more).toBe(false);
  log = page.body.data;
});
afterAll(() => app.close());

async function create(body: object): Promise<string> {
  const made = await app
    .as('planner')
    .post('/v1/tasks')
    .send({ title: 'A task', ...body })
    .expect(201);
  return made.body.id;
}

async function claim(id: string): Promise<number> {
  const claimed = await app.as('executor').post(`/v1/tasks/${id}/claim`).send({}).expect(200);
  return claimed.body.lease_token;
}

async function submit(id: string, more: object = {}): Promise<void> {
  const lease_token = await claim(id);
  await app
    .as('executor')
    .post(`/v1/tasks/${id}/submit`)
    .send({ lease_token, result: 'done', ...more })
    .expect(200);
}

/** A board's life in short: nearly every kind of event, by the ways in which it usually comes about. */
async function live(): Promise<void> {
  const planner = app.as('planner');
  const executor = app.as('executor');
  const reviewer = app.as('reviewer');
  await app.newAgent('executor');

  const good = await create({});
  await submit(good, { usage: { tokens: { input: 10 } } });
  await reviewer.post(`/v1/tasks/${good}/approve`).send({}).expect(200);

  const bad = await create({ limits: { max_reworks: 2, max_errors: 2 } });
  await submit(bad);
  const review = await reviewer.post(`/v1/tasks/${bad}/claim`).send({}).expect(200);
  const { lease_token } = review.body;
  await reviewer.post(`/v1/tasks/${bad}/release`).send({ lease_token, reason: 'later' }).expect(200);
  await reviewer
    .post(`/v1/tasks/${bad}/rework`)
    .send({ reason: 'away', class: 'infrastructure' })
    .expect(200);
  await reviewer.post(`/v1/tasks/${bad}/rework`).send({ reason: 'no' }).expect(200);
  await submit(bad);
  await reviewer.post(`/v1/tasks/${bad}/rework`).send({ reason: 'no again' }).expect(200);
  await executor.post(`/v1/tasks/${bad}/claim`).send({}).expect(409);
  await planner.post(`/v1/tasks/${bad}/unblock`).send({ reason: 'go on' }).expect(200);
  await executor
    .post(`/v1/tasks/${bad}/release`)
    .send({ lease_token: await claim(bad) })
    .expect(200);
  const failing = { error: { message: 'it broke' }, usage: { tokens: { output: 5 } } };
  for (let times = 0; times < 2; times++) {
    const token = await claim(bad);
    await executor
      .post(`/v1/tasks/${bad}/fail`)
      .send({ lease_token: token, ...failing })
      .expect(200);
  }

  const costly = await create({ limits: { max_tokens: 100 } });
  const token = await claim(costly);
  const usage = { tokens: { input: 101 } };
  await executor.post(`/v1/tasks/${costly}/heartbeat`).send({ lease_token: token, usage }).expect(200);
  const costlier = await create({ limits: { max_tokens: 100 } });
  await submit(costlier, { usage });
  const more = { attempt: 1, ...usage };
  await executor.post(`/v1/tasks/${costlier}/usage`).send(more).expect(200);
  await executor.post(`/v1/tasks/${costly}/submit`).send({ lease_token: token, result: 'late' }).expect(200);
  const next = await create({ supersedes: costly, limits: { max_tokens: 1_000 } });
  const edit = { description: 'more' };
  await planner.patch(`/v1/tasks/${next}`).set('if-match', '"v1"').send(edit).expect(200);
  const waiting = await create({ depends_on: [next] });
  await planner
    .post(`/v1/tasks/${next}/block`)
    .send({ kind: 'needs_input', reason: 'which one?' })
    .expect(200);
  await planner.post(`/v1/tasks/${next}/cancel`).send({ reason: 'neither' }).expect(200);
  await planner.post(`/v1/tasks/${waiting}/unblock`).send({ reason: 'alone' }).expect(200);

  const lost = await create({});
  await claim(lost);
  app.clock.advance(301_000);
  await app.tasks.sweep();
  await planner
    .post('/v1/plans')
    .send({ run: { name: 'small' }, tasks: [{ ref: 'a', title: 'A' }] })
    .expect(201);
}

describe('the log, against its page', () => {
  it('has the facts of each type that the page tells of, and no others', () => {
    for (const { type, data } of log) {
      const told = EVENT_TEXTS[type]?.data ?? [];
      const always = told.filter((name) => !name.endsWith('?'));
      // Whatever the type, a command's own event has the guard's word.
      const known = ['guard', ...told.map((name) => name.replace(/\?$/, ''))];
      expect(Object.keys(data), type).toEqual(expect.arrayContaining(always));
      expect(known, type).toEqual(expect.arrayContaining(Object.keys(data)));
    }
  });

  it('has seen most of what there is', () => {
    const seen = new Set(log.map(({ type }) => type));
    for (const type of Object.keys(EVENT_TEXTS).filter((name) => /^(task|guard|trip)\./.test(name)))
      if (type !== 'task.review_expired') expect(seen, type).toContain(type);
  });

  it('moves tasks only along the arrows of the diagram', () => {
    const arrows = new Set(edges().map(({ from, to }) => `${from} ${to}`));
    for (const { type, task_id, from, to } of log) {
      if (task_id === null || to === null || from === to) continue;
      expect(arrows, `${type} from ${from} to ${to}`).toContain(`${from} ${to}`);
    }
  });
});
