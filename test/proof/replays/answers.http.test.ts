import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SecondApp, startSecondApp, startTestApp, type TestApp } from '../../support/app.js';
import { Play, send } from '../../support/play.js';

let app: TestApp;
let other: SecondApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp();
  other = await startSecondApp(app);
  play = new Play(app);
});
afterAll(async () => {
  await other.close();
  await app.close();
});

it('a recovery is answered again as it was, also when its trip has gone on since', async () => {
  const { id } = await play.create({ limits: { max_reworks: 1 } });
  const { open_trip_id: trip } = await play.lap(id);
  const recover = (agent = play.planner, strategy = 'escalate') =>
    agent
      .post(`/v1/trips/${trip}/recover`)
      .set('idempotency-key', `${strategy} it`)
      .send({ strategy, reason: 'a person must look' });
  const first = await recover().expect(200);
  expect(first.body).toMatchObject({ trip: { state: 'open', severity: 'HIGH' }, task: { state: 'blocked' } });
  const lifted = await recover(play.operator, 'reset').expect(200);
  expect(lifted.body).toMatchObject({ trip: { state: 'closed' }, task: { state: 'pending' } });
  const { report: _, ...stored } = (await play.planner.get(`/v1/trips/${trip}`).expect(200)).body;
  expect(lifted.body.trip).toEqual(stored);
  for (const agent of [play.planner, other.withKey(app.keys.planner)]) {
    const again = await recover(agent).expect(200);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.text).toBe(first.text);
  }
});

it('a claim is answered again as it was, with the brief as it is by then', async () => {
  const { id } = await play.create();
  const claim = () =>
    send(play.executor, id, 'claim', { include_brief: true }).set('idempotency-key', `claim ${id}`);
  const { brief, ...first } = (await claim().expect(200)).body;
  expect(brief.attempts).toMatchObject([{ number: 1, outcome: 'in_progress' }]);
  await play.submit({ id, token: first.lease_token, attempt: 1 }).expect(200);
  await play.rework(id).expect(200);
  const again = await claim().expect(200);
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect(again.body).toEqual({
    ...first,
    brief: expect.objectContaining({ attempts: [expect.objectContaining({ outcome: 'submitted' })] }),
  });
});

it('a change of a project is answered again with the ETag of its version', async () => {
  const there = await app.newProject('told twice');
  const change = (cooldown_seconds: number) =>
    there.http
      .patch('/v1/projects/current')
      .set({ 'if-match': '"v1"', 'idempotency-key': `cool ${cooldown_seconds}` })
      .send({ policies: { cooldown_seconds } });
  const first = await change(200).expect(200);
  const again = await change(200).expect(200);
  expect([first.headers.etag, again.headers.etag]).toEqual(['"v2"', '"v2"']);
  expect([again.headers['idempotency-replayed'], again.text]).toEqual(['true', first.text]);
  await change(400).expect(412);
});

describe('a copy that comes while the first is in flight', () => {
  /** Holds the project, so that whatever changes it waits in the database until `done`; answers what waits. */
  async function whileHeld<T>(waiting: number, begin: () => T): Promise<T> {
    const holder = await app.pool.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM projects WHERE is_default FOR UPDATE');
      const begun = begin();
      const blocked = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      while ((await app.pool.query(blocked)).rows[0].n < waiting);
      return begun;
    } finally {
      await holder.query('COMMIT');
      holder.release();
    }
  }

  const copies = [() => app.url, () => app.url, () => other.url, () => other.url];

  it.each([
    ['a task', 'planner', '/v1/tasks', { title: 'Fetch the posts' }, { title: 'Fetch none' }],
    [
      'an agent',
      'operator',
      '/v1/agents',
      { name: 'in flight', roles: ['executor'] },
      { name: 'in time', roles: ['executor'] },
    ],
  ] as const)(
    'waits for it and gives its answer, in either process: %s',
    async (_, role, path, body, instead) => {
      const post = async (
        url: string,
        said: object,
      ): Promise<{ status: number; replayed: boolean; text: string }> => {
        const headers = {
          authorization: `Bearer ${app.keys[role]}`,
          'content-type': 'application/json',
          'idempotency-key': `in flight ${path}`,
        };
        const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(said) });
        const replayed = answer.headers.has('idempotency-replayed');
        return {
          status: answer.status,
          replayed,
          text: (await answer.text()).replace(/,"api_key":"[^"]+"/, ''),
        };
      };
      const before = await app.pool.query('SELECT position FROM projects WHERE is_default');
      const answers = await Promise.all(await whileHeld(2, () => copies.map((url) => post(url(), body))));
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.filter(({ replayed }) => replayed)).toHaveLength(3);
      const { rows } = await app.pool.query(
        'SELECT type FROM events WHERE position > $1 AND project_id = (SELECT id FROM projects WHERE is_default)',
        [before.rows[0].position],
      );
      expect(rows).toHaveLength(role === 'planner' ? 1 : 2);
      expect(JSON.parse((await post(other.url, instead)).text).code).toBe('idempotency_key_reused');
    },
  );
});
