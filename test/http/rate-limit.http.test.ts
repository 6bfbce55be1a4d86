import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { networkOf, SlidingWindow } from '../../src/http/rate-limit.js';
import { type HttpApp, httpApp, plantTasks, withKey } from '../support/http-app.js';

let open: HttpApp | null = null;
afterEach(async () => {
  await open?.app.close();
  open = null;
});

async function serve(requestsPerMinute: number, createdTasksPerMinute = 10): Promise<HttpApp> {
  const plant = (app: FastifyInstance): void => {
    plantTasks(app);
    app.post<{ Params: { n: string } }>('/v1/make/:n', { config: { roles: 'any' } }, (request, reply) => {
      const refusal = request.chargeCreates(Number(request.params.n));
      return refusal === null ? reply.send('made') : reply.refuse(refusal);
    });
  };
  open = await httpApp(plant, { limits: { requestsPerMinute, createdTasksPerMinute } });
  return open;
}

const read = (http: HttpApp, role: 'planner' | 'executor' = 'planner') =>
  http.app.inject({ url: '/v1/tasks/x', headers: withKey(role) });

describe('requests of a key', () => {
  it('are counted in the headers, and refused beyond the limit', async () => {
    const http = await serve(2);
    const first = await read(http);
    expect(first.headers['ratelimit-policy']).toBe('"default";q=2;w=60');
    expect(first.headers.ratelimit).toBe('"default";r=1;t=60');
    http.advance(15_000);
    expect((await read(http)).headers.ratelimit).toBe('"default";r=0;t=45');
    const refused = await read(http);
    expect(refused.statusCode).toBe(429);
    expect(refused.headers.ratelimit).toBe('"default";r=0;t=45');
    expect(refused.json()).toMatchObject({ code: 'rate_limited', retryable: true, limit: 2 });
    expect(Number(refused.headers['retry-after'])).toBe(refused.json().retry_after_seconds);
  });

  it('are allowed again exactly when Retry-After says so', async () => {
    const http = await serve(4);
    for (let n = 0; n < 4; n += 1) await read(http);
    const refused = await read(http);
    const seconds = Number(refused.headers['retry-after']);
    http.advance((seconds - 1) * 1000 - 1);
    expect((await read(http)).statusCode).toBe(429);
    http.advance(1001);
    expect((await read(http)).statusCode).toBe(200);
  });

  it('are counted for each agent alone', async () => {
    const http = await serve(1);
    expect((await read(http)).statusCode).toBe(200);
    expect((await read(http)).statusCode).toBe(429);
    expect((await read(http, 'executor')).statusCode).toBe(200);
  });

  it('count when they are refused for their role or their input', async () => {
    const http = await serve(1);
    const post = { method: 'POST', url: '/v1/tasks', headers: withKey('executor'), payload: {} } as const;
    expect((await http.app.inject(post)).statusCode).toBe(403);
    expect((await http.app.inject(post)).statusCode).toBe(429);
  });
});

describe('strangers', () => {
  it('who guess keys or paths are bounded by address, and a valid key still passes', async () => {
    const http = await serve(2);
    const guess = { url: '/v1/tasks/x', headers: { authorization: 'Bearer fb_guess' } };
    expect((await http.app.inject(guess)).statusCode).toBe(401);
    expect((await http.app.inject('/wp-login.php')).statusCode).toBe(404);
    const refused = await http.app.inject(guess);
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['retry-after']).toBeDefined();
    expect((await http.app.inject('/nothing')).statusCode).toBe(429);
    expect((await read(http)).statusCode).toBe(200);
    expect((await http.app.inject('/livez')).statusCode).toBe(200);
  });

  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8'],
    ['::1', '::1'],
    ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
  ])('at %s count as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe('created tasks', () => {
  it('have a budget of their own, taken whole or not at all', async () => {
    const http = await serve(6000, 10);
    const make = (n: number) =>
      http.app.inject({ method: 'POST', url: `/v1/make/${n}`, headers: withKey('planner') });
    expect((await make(8)).statusCode).toBe(200);
    const refused = await make(3);
    expect(refused.statusCode).toBe(429);
    expect(refused.json()).toMatchObject({ code: 'rate_limited', limit: 10, remaining: 2 });
    expect((await make(2)).statusCode).toBe(200);
    const never = await make(11);
    expect(never.json()).toMatchObject({ code: 'rate_limited', retryable: false });
  });
});

describe('the sliding window', () => {
  it('lets the last minute fade instead of forgetting it at once', () => {
    const window = new SlidingWindow(100);
    expect(window.take('a', 100, 0).allowed).toBe(true);
    expect(window.take('a', 1, 60_000)).toMatchObject({ allowed: false });
    expect(window.take('a', 50, 90_000).allowed).toBe(true);
    expect(window.take('a', 1, 90_000).allowed).toBe(false);
    expect(window.take('a', 100, 240_000).allowed).toBe(true);
  });

  it('names a wait after which the take succeeds, whatever was taken before', () => {
    for (const [before, cost] of [
      [100, 1],
      [100, 100],
      [60, 50],
      [1, 100],
    ] as const) {
      const window = new SlidingWindow(100);
      window.take('a', before, 0);
      const { allowed, retryMs } = window.take('a', cost, 10_000);
      expect(allowed).toBe(false);
      expect(window.take('a', cost, 10_000 + retryMs - 2).allowed).toBe(false);
      expect(window.take('a', cost, 10_000 + retryMs + 1).allowed).toBe(true);
    }
  });

  it('remembers a bounded number of keys, the recent ones first', () => {
    const window = new SlidingWindow(1, 100);
    for (let n = 0; n < 1000; n += 1) window.take(`key-${n}`, 1, n);
    expect(window.size).toBeLessThanOrEqual(100);
    expect(window.take('key-999', 1, 1000).allowed).toBe(false);
  });
});
