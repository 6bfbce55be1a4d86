import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestIdOf, traceOf } from '../../src/http/context.js';
import { type HttpApp, httpApp, plantTasks, withKey } from '../support/http-app.js';

let http: HttpApp;
beforeAll(async () => {
  http = await httpApp(plantTasks);
});
afterAll(() => http.app.close());

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

const read = (headers: Record<string, string>) =>
  http.app.inject({ url: '/v1/tasks/x', headers: { ...withKey('planner'), ...headers } });

describe('X-Request-Id', () => {
  it('is taken over when it is one, given back, and logged', async () => {
    const given = 'build-7:step.2_A';
    const answer = await read({ 'x-request-id': given });
    expect(answer.headers['x-request-id']).toBe(given);
    expect(answer.json().trace.requestId).toBe(given);
  });

  it.each([
    '',
    'with space',
    'x'.repeat(129),
    'ä',
    'line\\nbreak',
    // What has the form of a key would be logged.
    `fb_0123456789ABCDEF_${'a'.repeat(38)}`,
  ])('%j is replaced', async (given) => {
    const answer = await read({ 'x-request-id': given });
    expect(answer.headers['x-request-id']).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
    expect(answer.headers['x-request-id']).not.toBe(given);
  });

  it('is made so that none comes twice', () => {
    const made = new Set(Array.from({ length: 1000 }, () => requestIdOf(undefined)));
    expect(made.size).toBe(1000);
  });
});

describe('traceparent', () => {
  it('is taken over when it is valid, and given back', async () => {
    const answer = await read({ traceparent: PARENT });
    expect(answer.headers.traceparent).toBe(PARENT);
    expect(answer.json().trace.traceId).toBe(TRACE);
  });

  it('of a later version is read as far as it is known', () => {
    expect(traceOf(`01-${TRACE}-00f067aa0ba902b7-01-more`)).toEqual({ traceId: TRACE, traceparent: PARENT });
  });

  it.each([
    undefined,
    '',
    'nonsense',
    `ff-${TRACE}-00f067aa0ba902b7-01`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-00f067aa0ba902b7-01`,
    `${PARENT}-more`,
  ])('%s is replaced by a new one', (header) => {
    const { traceId, traceparent } = traceOf(header);
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(traceId).not.toBe(TRACE);
    expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  });
});

describe('the log', () => {
  it('has one line for a write or a refusal, without secrets, and none for a read', async () => {
    http.lines.length = 0;
    await read({});
    expect(http.lines).toEqual([]);
    await http.app.inject({
      method: 'POST',
      url: '/v1/tasks?secret=query',
      headers: { ...withKey('planner'), 'x-request-id': 'r-1' },
      payload: { title: 'secret body' },
    });
    await http.app.inject('/v1/tasks/x?secret=query');
    expect(http.lines).toHaveLength(2);
    expect(http.lines[0]).toMatchObject({
      level: 'info',
      method: 'POST',
      route: '/v1/tasks',
      status: 201,
      request_id: 'r-1',
      agent_id: 'agent-planner',
    });
    expect(http.lines[0]?.ms).toBeTypeOf('number');
    expect(http.lines[1]).toMatchObject({ status: 401, route: '/v1/tasks/:id', agent_id: null });
    expect(JSON.stringify(http.lines)).not.toMatch(/secret|fb_/);
  });

  it('hides an authorization that somebody logs by mistake', () => {
    http.lines.length = 0;
    http.app.log.info({ headers: { authorization: 'Bearer fb_x' }, authorization: 'fb_x' }, 'mistake');
    expect(JSON.stringify(http.lines)).not.toContain('fb_x');
  });

  it('has a line for an address that cannot be decoded', async () => {
    http.lines.length = 0;
    await http.app.inject('/%');
    expect(http.lines).toMatchObject([{ status: 400, route: null }]);
  });
});
