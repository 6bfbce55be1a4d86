import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const operator = () => app.as('operator');

async function listed(name: string) {
  const { body } = await operator().get('/v1/agents?limit=200').expect(200);
  return body.data.find((agent: { name: string }) => agent.name === name);
}

async function eventsOf(type: string): Promise<{ data: Record<string, unknown> }[]> {
  const { body } = await operator().get(`/v1/events?type=${type}&limit=200`).expect(200);
  return body.data;
}

it('a caller is told its project, agent, roles and key', async () => {
  const { body } = await app.as('planner').get('/v1/me').expect(200);
  expect(body).toMatchObject({
    project: { name: 'default' },
    agent: { name: 'planner' },
    roles: ['planner'],
  });
  expect(app.keys.planner).toContain(body.key_id);
});

describe('adding an agent', () => {
  it('answers the agent and, once, a key that works', async () => {
    const { body } = await operator()
      .post('/v1/agents')
      .send({ name: 'first', roles: ['executor', 'reviewer'] })
      .expect(201);
    const me = await app.withKey(body.api_key).get('/v1/me').expect(200);
    expect(me.body).toMatchObject({ agent: { id: body.id }, roles: ['executor', 'reviewer'] });
    const again = await listed('first');
    expect(again).toEqual({
      id: body.id,
      project_id: me.body.project.id,
      name: 'first',
      roles: ['executor', 'reviewer'],
      last_seen_at: expect.anything(),
      created_at: body.created_at,
      keys: [{ id: me.body.key_id, created_at: body.created_at, revoked_at: null }],
    });
  });

  it('refuses a name that is taken and names its agent', async () => {
    const { body } = await operator()
      .post('/v1/agents')
      .send({ name: 'planner', roles: ['planner'] })
      .expect(409);
    expect(body).toMatchObject({ code: 'duplicate', id: (await listed('planner')).id });
  });

  it.each([
    [{ roles: ['planner'] }, '/name'],
    [{ name: '  ', roles: ['planner'] }, '/name'],
    [{ name: 'x', roles: [] }, '/roles'],
    [{ name: 'x', roles: ['planner', 'planner'] }, '/roles'],
    [{ name: 'x', roles: ['admin'] }, '/roles/0'],
    [{ name: 'x', roles: ['planner'], admin: true }, '/admin'],
  ])('refuses %j and points at %s', async (body, pointer) => {
    const answer = await operator().post('/v1/agents').send(body).expect(400);
    expect(answer.body.errors).toEqual([expect.objectContaining({ pointer })]);
  });

  it.each(['planner', 'executor', 'reviewer', 'manager'] as const)('is not for a %s', async (role) => {
    const answer = await app
      .as(role)
      .post('/v1/agents')
      .send({ name: 'y', roles: ['operator'] })
      .expect(403);
    expect(answer.body.code).toBe('forbidden_role');
  });
});

describe('a retry key', () => {
  const body = { name: 'retried', roles: ['executor'] };
  const send = (key: string, sent: object = body) =>
    operator().post('/v1/agents').set('idempotency-key', key).send(sent);

  it('gives the first answer again, without the key that was told once', async () => {
    const first = await send('k1').expect(201);
    const second = await send('k1').expect(201);
    expect(second.headers['idempotency-replayed']).toBe('true');
    const { api_key: told, ...kept } = first.body;
    expect(told).toMatch(/^fb_/);
    expect(second.body).toEqual(kept);
  });

  it('of another request is refused', async () => {
    const { body: answer } = await send('k1', { ...body, name: 'other' }).expect(422);
    expect(answer.code).toBe('idempotency_key_reused');
  });

  it('sent several times at once adds one agent', async () => {
    const sent = { name: 'at once', roles: ['executor'] };
    const answers = await Promise.all(Array.from({ length: 5 }, () => send('k2', sent)));
    expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(answers.filter((answer) => answer.body.api_key !== undefined)).toHaveLength(1);
  });

  it('of a refusal is judged anew', async () => {
    await send('k3', { name: 'planner', roles: ['planner'] }).expect(409);
    await send('k3', { name: 'not taken', roles: ['planner'] }).expect(201);
  });
});

describe('keys', () => {
  it('can be changed without a gap: the old one works until it is revoked', async () => {
    const agent = await app.newAgent('executor');
    const added = await operator().post(`/v1/agents/${agent.id}/keys`).send({}).expect(201);
    expect(Object.keys(added.body).sort()).toEqual(['api_key', 'created_at', 'id']);
    await app.withKey(added.body.api_key).get('/v1/me').expect(200);
    const old = (await agent.http.get('/v1/me').expect(200)).body.key_id;
    await operator().delete(`/v1/agents/${agent.id}/keys/${old}`).expect(204);
    const { body } = await agent.http.get('/v1/me').expect(401);
    expect(body.code).toBe('unauthenticated');
    await app.withKey(added.body.api_key).get('/v1/me').expect(200);
  });

  it('may be revoked to the last, and again, which changes nothing', async () => {
    const agent = await app.newAgent('executor');
    const { key_id: keyId } = (await agent.http.get('/v1/me').expect(200)).body;
    await operator().delete(`/v1/agents/${agent.id}/keys/${keyId}`).expect(204);
    await operator().delete(`/v1/agents/${agent.id}/keys/${keyId}`).expect(204);
    await agent.http.get('/v1/me').expect(401);
    const events = (await eventsOf('key.revoked')).filter(({ data }) => data.key_id === keyId);
    expect(events).toHaveLength(1);
  });

  it('that is revoked while its claim waits is given nothing', async () => {
    const agent = await app.newAgent('executor');
    const { key_id: keyId } = (await agent.http.get('/v1/me').expect(200)).body;
    const labels = ['revoked meanwhile'];
    const waiting = agent.http
      .post('/v1/tasks/claim?wait_seconds=10')
      .send({ labels })
      .then(({ status }) => status);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await operator().delete(`/v1/agents/${agent.id}/keys/${keyId}`).expect(204);
    const { body } = await app.as('planner').post('/v1/tasks').send({ title: 'x', labels }).expect(201);
    expect(await waiting).toBe(204);
    await app.as('executor').post(`/v1/tasks/${body.id}/claim`).send({}).expect(200);
  });

  it('of an agent that is not there are not found', async () => {
    const nobody = 'agt_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b';
    await operator().post(`/v1/agents/${nobody}/keys`).expect(404);
    await operator().post('/v1/agents/what/keys').expect(404);
    await operator().delete(`/v1/agents/${nobody}/keys/3mKq0ZtR8vYb1NcE`).expect(404);
  });

  it('of another project are not found', async () => {
    const other = await app.newProject();
    const mine = await listed('planner');
    await other.http.post(`/v1/agents/${mine.id}/keys`).expect(404);
    await other.http.delete(`/v1/agents/${mine.id}/keys/${mine.keys[0].id}`).expect(404);
    const { body } = await other.http.get('/v1/agents').expect(200);
    expect(body.data.map((agent: { name: string }) => agent.name)).toEqual(['operator']);
    await app.as('planner').get('/v1/me').expect(200);
  });
});

it('the list goes page by page', async () => {
  const all = (await operator().get('/v1/agents?limit=200').expect(200)).body.data;
  const names: string[] = [];
  let path = '/v1/agents?limit=2';
  while (path !== '') {
    const { body, headers } = await operator().get(path).expect(200);
    names.push(...body.data.map((agent: { name: string }) => agent.name));
    path = /<(.+)>/.exec(headers.link ?? '')?.[1] ?? '';
  }
  expect(names).toEqual(all.map((agent: { name: string }) => agent.name));
});

it('when an agent was seen is noted once a minute, and not in its requests', async () => {
  const agent = await app.newAgent('manager');
  const seenAt = async () => {
    await agent.http.get('/v1/me').expect(200);
    await app.deps.agents.settled();
    const { body } = await operator().get('/v1/agents?limit=200').expect(200);
    return body.data.find((one: { id: string }) => one.id === agent.id).last_seen_at;
  };
  const first = await seenAt();
  expect(first).toMatch(/Z$/);
  expect(await seenAt()).toBe(first);
  app.clock.advance(61);
  expect(Date.parse(await seenAt()) - Date.parse(first)).toBeGreaterThanOrEqual(60_000);
});

it('no secret is written anywhere: not in events, logs or kept answers', async () => {
  const answer = await operator()
    .post('/v1/agents')
    .set('idempotency-key', 'secret')
    .send({ name: 'secretive', roles: ['executor'] })
    .expect(201);
  const added = await operator().post(`/v1/agents/${answer.body.id}/keys`).send({}).expect(201);
  const { rows } = await app.pool.query(
    `SELECT to_jsonb(e)::text AS line FROM events e UNION ALL SELECT to_jsonb(k)::text FROM idempotency_keys k
     UNION ALL SELECT to_jsonb(a)::text FROM agents a UNION ALL SELECT to_jsonb(a)::text FROM api_keys a`,
  );
  const written = [...rows.map((row) => row.line), ...app.logLines].join('\n');
  for (const key of [answer.body.api_key, added.body.api_key]) {
    expect(written).not.toContain(key.split('_')[2]);
    expect(written).toContain(key.split('_')[1]);
  }
});
