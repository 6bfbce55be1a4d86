import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type SecondApp,
  startSecondApp,
  startTestApp,
  type TestApp,
  type TestCaller,
} from '../../support/app.js';
import { Play } from '../../support/play.js';

/** What the contract promises: no process accepts a key longer than this after it was revoked. */
const PROMISED_MS = 5_000;

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

/** Revokes the first key of an agent, in the first process; tells when that was answered. */
async function revoke({ id, key }: TestCaller): Promise<number> {
  const [, keyId = ''] = key.split('_');
  await play.operator.delete(`/v1/agents/${id}/keys/${keyId}`).expect(204);
  return performance.now();
}

/** Resolves once a request of this agent was let in. */
async function letIn({ id }: TestCaller): Promise<void> {
  const query = 'SELECT 1 FROM agents WHERE id = $1 AND last_seen_at IS NOT NULL';
  while ((await app.pool.query(query, [id.slice('agt_'.length)])).rows.length === 0);
}

async function lastPosition(): Promise<number> {
  const { rows } = await app.pool.query('SELECT position FROM projects WHERE is_default');
  return Number(rows[0].position);
}

it('a request is refused at once where the key was revoked, and soon in every other process', async () => {
  const agent = await app.newAgent('executor');
  const there = other.withKey(agent.key);
  await there.get('/v1/me').expect(200);
  await agent.http.get('/v1/me').expect(200);
  const at = await revoke(agent);
  await agent.http.get('/v1/me').expect(401);
  while ((await there.get('/v1/me')).status !== 401) expect(performance.now() - at).toBeLessThan(PROMISED_MS);
  await there.get('/v1/me').expect(401);
});

it('a kept answer is not given again to a revoked key', async () => {
  const agent = await app.newAgent('planner');
  const create = () =>
    agent.http.post('/v1/tasks').set('idempotency-key', 'again').send({ title: 'Fetch the posts' });
  await create().expect(201);
  expect((await create().expect(201)).headers['idempotency-replayed']).toBe('true');
  await revoke(agent);
  expect((await create().expect(401)).body.code).toBe('unauthenticated');
});

/** What an agent went on hearing of the board, and when the line was ended. */
interface Heard {
  readonly what: string;
  readonly agent: TestCaller;
  readonly text: string;
  readonly endedAt: number;
}

/** The calls that last longer than a request. */
const LASTING = {
  stream: '/v1/events/stream?type=task.created&after=',
  'stream of what does not happen': '/v1/events/stream?type=trip.opened&after=',
  'waiting read': '/v1/events?type=task.created&wait_seconds=20&after=',
  'waiting claim': '/v1/tasks/claim?wait_seconds=20',
};

async function hear(what: string, agent: TestCaller, url: string): Promise<Heard> {
  const headers = { authorization: `Bearer ${agent.key}`, 'content-type': 'application/json' };
  const isClaim = what.startsWith('waiting claim');
  const response = await fetch(url, isClaim ? { headers, method: 'POST', body: '{}' } : { headers });
  expect(response.status).toBeLessThan(300);
  const text = await response.text();
  return { what, agent, text, endedAt: performance.now() };
}

it('a stream and a waiting call give nothing more, and end, in the process that revokes and in every other', async () => {
  const wanted = Object.entries(LASTING).flatMap(([what, path]) => [
    { what: `${what} here`, path, url: app.url },
    { what: `${what} elsewhere`, path, url: other.url },
  ]);
  const agents = await Promise.all(wanted.map(() => app.newAgent('executor')));
  const after = await lastPosition();
  const lines = agents.map((agent, n) => {
    const { what = '', path = '', url = '' } = wanted[n] ?? {};
    return hear(what, agent, `${url}${path}${path.endsWith('after=') ? after : ''}`);
  });
  await Promise.all(agents.map(letIn));
  const revokedAt = new Map(
    await Promise.all(agents.map(async (agent) => [agent.id, await revoke(agent)] as const)),
  );
  // Two seconds in which nothing happens, as a waiting read tells; then something does.
  await play.operator.get(`/v1/events?after=${await lastPosition()}&wait_seconds=2`).expect(200);
  const { id } = await play.create();
  const ended = await Promise.all(lines);
  expect(ended.filter(({ text }) => text.includes(id)).map(({ what }) => what)).toEqual([]);
  const late = ended.filter(({ agent, endedAt }) => endedAt - (revokedAt.get(agent.id) ?? 0) >= PROMISED_MS);
  expect(late.map(({ what }) => what)).toEqual([]);
  expect((await play.task(id)).state).toBe('pending');
}, 40_000);
