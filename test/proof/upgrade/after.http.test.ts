import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../../src/db/migrate.js';
import { movableClock } from '../../../src/kernel/clock.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play, type TaskBody } from '../../support/play.js';
import { quietLog } from '../../support/server.js';
import { readFirstRelease, restoreFirstRelease } from './first-release.js';

let release: Awaited<ReturnType<typeof readFirstRelease>>;
let app: TestApp;
let play: Play;
beforeAll(async () => {
  release = await readFirstRelease();
  const database = await restoreFirstRelease();
  await migrate(database.url, { log: quietLog });
  // The newest version goes on where the old one was stopped, when leases still held.
  const clock = movableClock();
  clock.advance((release.recordedAt - Date.now()) / 1000);
  app = await startTestApp({ clock, filled: { database, keys: release.keys } });
  play = new Play(app);
});
afterAll(() => app.close());

async function titled(title: string): Promise<TaskBody> {
  const { body } = await play.planner.get('/v1/tasks?label=open').expect(200);
  return body.data.find((task: { title: string }) => task.title === title);
}

async function leaseOf({ id }: TaskBody): Promise<number> {
  const { rows } = await app.pool.query('SELECT lease_token FROM tasks WHERE id = $1', [
    id.slice('task_'.length),
  ]);
  return rows[0].lease_token;
}

describe('after the upgrade', () => {
  it('every task, attempt, run, trip, breaker and event reads as it did before', async () => {
    for (const { path, body } of release.answers) {
      const answer = await play.operator.get(path).expect(200);
      expect(answer.body, path).toMatchObject(body);
    }
    const events = release.answers.filter(({ path }) => path.startsWith('/v1/events'));
    expect(events.length).toBeGreaterThan(3);
  });

  it('all agents go on with the keys they have', async () => {
    for (const role of ['planner', 'executor', 'reviewer', 'manager', 'operator'] as const) {
      const { body } = await app.as(role).get('/v1/me').expect(200);
      expect(body).toMatchObject({ agent: { name: role }, roles: [role] });
    }
  });

  it('a command that was sent before is answered as it was then', async () => {
    const { path, key, body, answer } = release.repeat;
    const again = await play.planner.post(path).set('idempotency-key', key).send(body).expect(201);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.body).toEqual(answer);
  });

  it('who held a lease hands in, and who held a review judges', async () => {
    const worked = await titled('is worked on');
    const lease_token = await leaseOf(worked);
    await play.submit({ id: worked.id, token: lease_token, attempt: 1 }).expect(200);
    const judged = await titled('is judged');
    const verdict = { reason: 'not yet', lease_token: await leaseOf(judged) };
    await play.rework(judged.id, play.reviewer, verdict).expect(200);
    await play.approve((await titled('is in review')).id).expect(200);
    await play.toReview((await titled('waits')).id);
  });

  it('what was stopped is lifted, and what was given up is not', async () => {
    const { body } = await play.planner.get('/v1/trips?state=open&scope=task').expect(200);
    expect(body.data.length).toBeGreaterThan(1);
    for (const { id } of body.data) {
      const form = { strategy: 'reset', reason: 'go on', reset_tokens: true };
      await play.operator.post(`/v1/trips/${id}/recover`).send(form).expect(200);
    }
    const { body: lost } = await play.planner.get('/v1/tasks?state=cancelled').expect(200);
    await play.unblock(lost.data[0].id).expect(409);
  });

  it('leases that ran out end, and every rule holds', async () => {
    app.clock.advance(90_000);
    await app.tasks.sweep();
    const { body } = await play.planner.get('/v1/tasks?state=in_progress').expect(200);
    expect(body.data).toEqual([]);
    const checked = await play.operator.get('/v1/health/invariants').expect(200);
    expect(checked.body.ok).toBe(true);
    await play.expectSound();
  });
});
