import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { callerOf } from '../../src/http/auth.js';
import type { Actor } from '../../src/kernel/actor.js';
import { type HttpApp, httpApp, plantTasks, someActor, withKey } from '../support/http-app.js';

let open: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(open.map((app) => app.close()));
  open = [];
});

async function serve(...args: Parameters<typeof httpApp>): Promise<HttpApp> {
  const http = await httpApp(...args);
  open.push(http.app);
  return http;
}

describe('a route', () => {
  it.each([
    ['without roles', {}, 'Route GET /v1/new declares no config.roles'],
    [
      'under /v1 that is public',
      { roles: 'public' as const },
      'Route GET /v1/new is under /v1 and cannot be public',
    ],
    ['for no role at all', { roles: [] }, 'Route GET /v1/new declares roles that nobody has'],
  ])('%s stops the boot by name', async (_case, config, message) => {
    const { app } = await serve((app) => app.get('/v1/new', { config }, () => 'x'));
    await expect(app.ready()).rejects.toThrow(message);
  });

  it('outside /v1 must say that it is public, or who may call it', async () => {
    const silent = await serve((app) => app.get('/metrics', () => 'x'));
    await expect(silent.app.ready()).rejects.toThrow('/metrics');
    const { app } = await serve((app) => app.get('/metrics', { config: { roles: ['operator'] } }, () => 'x'));
    expect((await app.inject('/metrics')).statusCode).toBe(401);
    expect((await app.inject({ url: '/metrics', headers: withKey('operator') })).statusCode).toBe(200);
  });

  it('answers HEAD as it answers GET', async () => {
    const { app } = await serve(plantTasks);
    const head = { method: 'HEAD', url: '/v1/tasks/x' } as const;
    expect((await app.inject(head)).statusCode).toBe(401);
    const answer = await app.inject({ ...head, headers: withKey('executor') });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toBe('');
  });
});

describe('a key', () => {
  it.each([
    ['none', {}, 'Bearer realm="fuseboard"'],
    ['unknown', { authorization: 'Bearer fb_wrong' }, 'Bearer realm="fuseboard", error="invalid_token"'],
    ['another scheme', { authorization: 'Basic YTpi' }, 'Bearer realm="fuseboard", error="invalid_token"'],
    ['empty', { authorization: 'Bearer ' }, 'Bearer realm="fuseboard", error="invalid_token"'],
    [
      'very long',
      { authorization: `Bearer ${'x'.repeat(600)}` },
      'Bearer realm="fuseboard", error="invalid_token"',
    ],
  ])('%s is 401 and says where keys are', async (_case, headers, challenge) => {
    const { app } = await serve(plantTasks);
    const answer = await app.inject({ url: '/v1/tasks/x', headers });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe(challenge);
    expect(answer.json()).toMatchObject({ code: 'unauthenticated' });
    expect(answer.json().detail).toContain('.fuseboard/keys.env');
  });

  it('is judged before the body is read', async () => {
    const { app } = await serve(plantTasks);
    const headers = { 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'POST', url: '/v1/tasks', headers, payload: '{' });
    expect(answer.statusCode).toBe(401);
  });

  it('may be looked up with a promise, and a lookup that fails is a fault', async () => {
    const authenticate = (token: string): Promise<Actor | null> =>
      token === 'down'
        ? Promise.reject(new Error('ECONNREFUSED: Connection terminated'))
        : Promise.resolve(someActor('planner'));
    const { app } = await serve(plantTasks, { authenticate });
    const url = '/v1/tasks/x';
    expect((await app.inject({ url, headers: { authorization: 'bearer  any' } })).statusCode).toBe(200);
    const down = await app.inject({ url, headers: { authorization: 'Bearer down' } });
    expect(down.statusCode).toBe(503);
    expect(down.json().code).toBe('database_unavailable');
  });

  it('without the role is 403 and says which would do', async () => {
    const { app } = await serve(plantTasks);
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/tasks',
      headers: withKey('executor'),
      payload: {},
    });
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({
      code: 'forbidden_role',
      required_roles: ['planner'],
      roles: ['executor'],
    });
    expect(answer.json().detail).toContain('the role planner');
  });

  it('of an operator stands in for a planner', async () => {
    const { app } = await serve(plantTasks);
    const payload = { title: 'x' };
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/tasks',
      headers: withKey('operator'),
      payload,
    });
    expect(answer.statusCode).toBe(201);
  });

  it('makes its agent known to the handler, and only there', async () => {
    const { app } = await serve((app) => {
      app.get('/v1/me', { config: { roles: 'any' } }, (request) => callerOf(request).name);
      app.get('/open', { config: { roles: 'public' } }, (request) => callerOf(request).name);
    });
    expect((await app.inject({ url: '/v1/me', headers: withKey('planner') })).body).toBe('planner');
    expect((await app.inject({ url: '/open', headers: withKey('planner') })).statusCode).toBe(500);
  });
});

describe('health', () => {
  it('is public, and readiness gives its reasons', async () => {
    let reasons: string[] = [];
    const ready = () => ({ ok: reasons.length === 0, reasons });
    const { app } = await serve(() => undefined, { ready });
    expect((await app.inject('/livez')).json()).toEqual({ status: 'ok' });
    expect((await app.inject('/readyz')).statusCode).toBe(200);
    reasons = ['migrations are running'];
    const answer = await app.inject('/readyz');
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.json()).toMatchObject({ reasons });
    expect((await app.inject('/livez')).statusCode).toBe(200);
  });
});
