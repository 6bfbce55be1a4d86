import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROBLEMS } from '../../src/http/problem.js';
import { EXPLANATIONS } from '../../src/http/problem-texts.js';
import { REFUSAL_CODES } from '../../src/kernel/refusal.js';
import { type HttpApp, httpApp, plantTasks, withKey } from '../support/http-app.js';

const TASK = '01920000-0000-7000-8000-000000000001';

function plantFaults(app: FastifyInstance): void {
  plantTasks(app);
  const config = { roles: 'any' } as const;
  app.get('/v1/blocked', { config }, (_request, reply) =>
    reply.refuse({
      code: 'task_blocked',
      detail: 'The fifth rework stopped it.',
      facts: { state: 'blocked', limit: 5, status: 1, code: 'mine' },
      nextActions: [
        { call: 'unblockTask', on: { kind: 'task', id: TASK }, role: 'planner' },
        { call: 'createTask' },
        { call: 'noSuchOperation' },
      ],
    }),
  );
  app.get('/v1/fault/:kind', { config }, (request) => {
    const { kind } = request.params as { kind: string };
    throw kind === 'database'
      ? new Error('Connection terminated unexpectedly')
      : new Error('password=hunter2');
  });
  app.get('/v1/fleet', { config }, (_request, reply) =>
    reply.refuse({ code: 'fleet_breaker_open', detail: 'Paused.', retryAfterSeconds: 299.2 }),
  );
}

let http: HttpApp;
beforeAll(async () => {
  http = await httpApp(plantFaults);
});
afterAll(() => http.app.close());

const get = (url: string, headers: Record<string, string> = withKey('planner')) =>
  http.app.inject({ method: 'GET', url, headers });

describe('every refusal code', () => {
  it.each(REFUSAL_CODES)('%s has a row, a text and a page in three forms', async (code) => {
    expect(PROBLEMS[code].status).toBeGreaterThanOrEqual(400);
    expect(EXPLANATIONS[code].length).toBeGreaterThan(60);
    const html = await get(`/problems/${code}`, { accept: 'text/html' });
    expect(html.statusCode).toBe(200);
    expect(html.headers['content-security-policy']).toContain("default-src 'none'");
    expect(html.body).toContain(`<code>${code}</code>`);
    const json = await get(`/problems/${code}`, { accept: 'application/json' });
    expect(json.json()).toMatchObject({
      code,
      status: PROBLEMS[code].status,
      explanation: EXPLANATIONS[code],
    });
    const markdown = await get(`/problems/${code}`, { accept: 'text/markdown' });
    expect(markdown.headers['content-type']).toContain('text/markdown');
    expect(markdown.body).toContain(EXPLANATIONS[code]);
  });

  it('stands in the index', async () => {
    const { body } = await get('/problems', { accept: 'text/html' });
    for (const code of REFUSAL_CODES) expect(body).toContain(`href="/problems/${code}"`);
  });

  it('has Retry-After when its status is 429 or 503', () => {
    for (const code of REFUSAL_CODES) {
      const { status, retryAfterSeconds } = PROBLEMS[code];
      if (status === 429 || status === 503) expect(retryAfterSeconds).toBeGreaterThan(0);
    }
  });

  it('is the only thing that has a page', async () => {
    const answer = await get('/problems/nonsense');
    expect(answer.statusCode).toBe(404);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect((await get('/problems/toString')).statusCode).toBe(404);
  });

  it('is refused in a form that does not exist', async () => {
    const answer = await get('/problems/duplicate', { accept: 'image/png' });
    expect(answer.statusCode).toBe(406);
    expect(answer.json().code).toBe('not_acceptable');
  });
});

describe('a refusal on the wire', () => {
  it('has the members of RFC 9457, with facts beside them that replace none', async () => {
    const answer = await get('/v1/blocked?token=secret');
    expect(answer.statusCode).toBe(409);
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(answer.json()).toEqual({
      type: '/problems/task_blocked',
      title: PROBLEMS.task_blocked.title,
      status: 409,
      detail: 'The fifth rework stopped it.',
      instance: '/v1/blocked',
      code: 'task_blocked',
      request_id: answer.headers['x-request-id'],
      retryable: false,
      state: 'blocked',
      limit: 5,
      next_actions: [
        { method: 'POST', path: `/v1/tasks/task_${TASK}/unblock`, role: 'planner' },
        { method: 'POST', path: '/v1/tasks' },
      ],
    });
  });

  it('rounds Retry-After up and says it in the body too', async () => {
    const answer = await get('/v1/fleet');
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('300');
    expect(answer.json()).toMatchObject({ retry_after_seconds: 300, retryable: true });
  });
});

describe('a fault', () => {
  it('is 500, logged once, and says nothing of its message', async () => {
    http.lines.length = 0;
    const answer = await get('/v1/fault/bug');
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('hunter2');
    expect(http.lines).toHaveLength(1);
    expect(http.lines[0]).toMatchObject({
      level: 'error',
      request_id: answer.headers['x-request-id'],
      route: '/v1/fault/:kind',
      err: { message: 'password=hunter2' },
    });
  });

  it('of the database is 503 with Retry-After', async () => {
    const answer = await get('/v1/fault/database');
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.json()).toMatchObject({ code: 'database_unavailable', retryable: true });
  });
});

describe('an address that no route takes', () => {
  it.each([
    ['GET', '/nothing', 404, undefined],
    ['POST', '/v1/nothing', 404, undefined],
    ['PUT', '/v1/tasks', 405, 'POST'],
    ['DELETE', '/v1/tasks/task_1', 405, 'GET, HEAD'],
    ['GET', '/v1/tasks/task_1/unblock', 405, 'POST'],
    ['POST', '/livez', 405, 'GET, HEAD'],
    ['OPTIONS', '/v1/tasks/task_1', 405, 'GET, HEAD'],
    ['GET', '/docs/static/no-such-file', 404, undefined],
  ] as const)('%s %s answers %i', async (method, url, status, allow) => {
    const answer = await http.app.inject({ method, url });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.headers.allow).toBe(allow);
    expect(answer.json().instance).toBe(url);
  });

  it('is refused before its body is looked at', async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await http.app.inject({ method: 'POST', url: '/v1/nothing', headers, payload: '{' });
    expect(answer.statusCode).toBe(404);
  });

  it.each([
    ['/v1/tasks/%E0%A4%A', 400, 'invalid_request'],
    ['/%', 400, 'invalid_request'],
    ['/v1/tasks/%ED%A0%80', 400, 'invalid_request'],
    [`/v1/tasks/${'x'.repeat(600)}`, 414, 'uri_too_long'],
    [`/v1/tasks/x?q=${'x'.repeat(9000)}`, 414, 'uri_too_long'],
  ] as const)('%.30s is a problem as well', async (url, status, code) => {
    const answer = await get(url);
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.headers['x-request-id']).toBe(answer.json().request_id);
    expect(answer.json().code).toBe(code);
  });
});
