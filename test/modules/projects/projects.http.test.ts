import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp, type TestCaller } from '../../support/app.js';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

describe('the project of a caller', () => {
  it('is read by every agent, with its own limits and those in force', async () => {
    const { body, headers } = await app.as('executor').get('/v1/projects/current').expect(200);
    expect(body).toMatchObject({
      name: 'default',
      limits: {},
      effective_limits: { max_reworks: 5, max_tokens: 10_000, max_cost_usd: null, max_iterations: 100 },
      policies: {},
      version: 1,
    });
    expect(headers.etag).toBe('"v1"');
    await app.as('executor').get('/v1/projects/current').set('if-none-match', '"v1"').expect(304);
  });
});

describe('changing it', () => {
  let project: TestCaller;
  beforeEach(async () => {
    project = await app.newProject();
  });
  const patch = (body: object, match = '"v1"') =>
    project.http.patch('/v1/projects/current').set('if-match', match).send(body);

  it('keeps what is left out and gives back what is null', async () => {
    await patch({
      limits: { max_tokens: 200_000, max_cost_usd: 1.5 },
      policies: { cooldown_seconds: 60 },
    }).expect(200);
    const { body, headers } = await patch({ limits: { max_tokens: null, max_reworks: 7 } }, '"v2"').expect(
      200,
    );
    expect(body).toMatchObject({
      limits: { max_cost_usd: 1.5, max_reworks: 7 },
      effective_limits: { max_cost_usd: 1.5, max_reworks: 7, max_tokens: 10_000 },
      policies: { cooldown_seconds: 60 },
      version: 3,
    });
    expect(body.limits).not.toHaveProperty('max_tokens');
    expect(headers.etag).toBe('"v3"');
    expect((await project.http.get('/v1/projects/current').expect(200)).body).toEqual(body);
    const reset = await patch({ policies: { cooldown_seconds: null } }, '*').expect(200);
    expect(reset.body.policies).toEqual({});
  });

  it('lifts with null a limit that need not be there, also over the server’s own', async () => {
    await patch({ limits: { max_cost_usd: 1.5, max_run_tokens: 10 } }).expect(200);
    const { body } = await patch({ limits: { max_cost_usd: null } }, '"v2"').expect(200);
    expect(body).toMatchObject({
      limits: { max_cost_usd: null, max_run_tokens: 10 },
      effective_limits: { max_cost_usd: null, max_run_tokens: 10 },
    });
  });

  it('writes an event with the new settings', async () => {
    await patch({ limits: { max_cost_usd: 0.25 } }).expect(200);
    const { body } = await project.http.get('/v1/events?type=project.updated').expect(200);
    expect(body.data).toEqual([
      expect.objectContaining({
        actor: { agent_id: project.id, role: 'operator' },
        data: { limits: { max_cost_usd: 0.25 }, policies: {} },
      }),
    ]);
  });

  it('to what it already is changes nothing', async () => {
    const { body } = await patch({ limits: { max_tokens: null } }).expect(200);
    expect(body.version).toBe(1);
    const events = await project.http.get('/v1/events?type=project.updated').expect(200);
    expect(events.body.data).toEqual([]);
  });

  it('needs the version it was made for', async () => {
    const missing = await project.http.patch('/v1/projects/current').send({ limits: {} }).expect(428);
    expect(missing.body.code).toBe('version_required');
    await patch({ limits: { max_tokens: 1 } }).expect(200);
    const stale = await patch({ limits: { max_tokens: 2 } }).expect(412);
    expect(stale.body).toMatchObject({ code: 'stale_version', version: 2 });
    await patch({}, 'v1').expect(400);
  });

  it.each([
    [{ limits: { max_tokens: 0 } }, '/limits/max_tokens'],
    [{ limits: { max_reworks: 101 } }, '/limits/max_reworks'],
    [{ limits: { max_reworks: 1.5 } }, '/limits/max_reworks'],
    [{ limits: { max_cost_usd: 0 } }, '/limits/max_cost_usd'],
    [{ limits: { max_everything: 1 } }, '/limits/max_everything'],
    [{ policies: { cooldown_seconds: 0 } }, '/policies/cooldown_seconds'],
    [{ name: 'x' }, '/name'],
  ])('refuses %j and points at %s', async (body, pointer) => {
    const answer = await patch(body).expect(400);
    expect(answer.body.errors).toEqual([expect.objectContaining({ pointer })]);
  });

  it('is for operators only', async () => {
    await app.as('planner').patch('/v1/projects/current').set('if-match', '*').send({}).expect(403);
  });

  it('counts at once for its tasks', async () => {
    await app
      .as('operator')
      .patch('/v1/projects/current')
      .set('if-match', '*')
      .send({ limits: { max_errors: 9 } })
      .expect(200);
    const { body } = await app.as('planner').post('/v1/tasks').send({ title: 'limited' }).expect(201);
    expect(body.limits.max_errors).toBe(9);
  });
});

describe('making projects', () => {
  it('gives the new project an operator of its own, a default run and a log', async () => {
    const { body } = await app.as('operator').post('/v1/projects').send({ name: 'website' }).expect(201);
    const http = app.withKey(body.api_key);
    const me = await http.get('/v1/me').expect(200);
    expect(me.body).toMatchObject({ project: { id: body.id, name: 'website' }, roles: ['operator'] });
    const events = await http.get('/v1/events').expect(200);
    expect(events.body.data.map((event: { type: string }) => event.type)).toEqual([
      'project.created',
      'agent.created',
      'key.created',
      'run.created',
    ]);
    const planner = await http
      .post('/v1/agents')
      .send({ name: 'planner', roles: ['planner'] })
      .expect(201);
    await app.withKey(planner.body.api_key).post('/v1/tasks').send({ title: 'first' }).expect(201);
  });

  it('is for the operator of the default project only', async () => {
    const other = await app.newProject();
    const refused = await other.http.post('/v1/projects').send({ name: 'mine' }).expect(403);
    expect(refused.body.code).toBe('forbidden_role');
    await other.http.get('/v1/projects').expect(403);
    await app.as('planner').get('/v1/projects').expect(403);
  });

  it('refuses a name that is taken', async () => {
    const { body } = await app.as('operator').post('/v1/projects').send({ name: 'default' }).expect(409);
    const mine = await app.as('operator').get('/v1/projects/current').expect(200);
    expect(body).toMatchObject({ code: 'duplicate', id: mine.body.id });
  });

  it('with a retry key makes one, and tells its key once', async () => {
    const send = () =>
      app.as('operator').post('/v1/projects').set('idempotency-key', 'p1').send({ name: 'retried' });
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201]);
    expect(answers.filter((answer) => 'api_key' in answer.body)).toHaveLength(1);
  });

  it('lists them all, oldest first', async () => {
    const { body } = await app.as('operator').get('/v1/projects?limit=200').expect(200);
    const names = body.data.map((project: { name: string }) => project.name);
    expect(names[0]).toBe('default');
    expect(names).toContain('website');
  });
});

it('answers kept for retries are forgotten after 72 hours', async () => {
  const send = (key: string) =>
    app
      .as('operator')
      .post('/v1/projects')
      .set('idempotency-key', key)
      .send({ name: `project ${key}` });
  await send('old').expect(201);
  await send('new').expect(201);
  await app.pool.query(
    "UPDATE idempotency_keys SET created_at = created_at - interval '73 hours' WHERE key = 'old'",
  );
  await app.deps.projects.tidy();
  const { rows } = await app.pool.query("SELECT key FROM idempotency_keys WHERE key IN ('old', 'new')");
  expect(rows).toEqual([{ key: 'new' }]);
});
