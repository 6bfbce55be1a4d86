import { once } from 'node:events';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { serverOptions } from '../../src/http/server-options.js';
import { httpApp, openSocket, parseAnswer, plantTasks, readToEnd } from '../support/http-app.js';

const PROBLEM = 'content-type: application/problem+json';
const SHORT = {
  requestTimeout: 300,
  http: { headersTimeout: 200, connectionsCheckingInterval: 20, requireHostHeader: false },
};

let app: FastifyInstance | null = null;
afterEach(async () => {
  await app?.close();
  app = null;
});

async function listen(
  plant: (app: FastifyInstance) => void = plantTasks,
  options: NonNullable<Parameters<typeof httpApp>[2]> = {},
): Promise<FastifyInstance> {
  const http = await httpApp(plant, {}, options);
  app = http.app;
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app;
}

/** A promise that the test resolves. */
function gate(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}

async function exchange(text: string, options = {}): Promise<ReturnType<typeof parseAnswer>> {
  const socket = await openSocket(await listen(plantTasks, options));
  const answer = readToEnd(socket);
  socket.write(text);
  return parseAnswer(await answer);
}

describe('what never becomes a request', () => {
  it.each([
    ['nonsense', 'nonsense\r\n\r\n', 400, 'invalid_request'],
    ['a bad header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', 400, 'invalid_request'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
      'invalid_request',
    ],
    [
      'length and chunks together',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'headers over 16 KiB',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['an address over 16 KiB', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414, 'uri_too_long'],
  ])('%s is answered with a problem and closed', async (_case, text, status, code) => {
    const answer = await exchange(text);
    expect(answer.status).toBe(status);
    expect(answer.head).toContain(PROBLEM);
    expect(answer.head).toContain('connection: close');
    expect(answer.body).toMatchObject({ type: `/problems/${code}`, status, code });
    expect(answer.head).toContain(`x-request-id: ${String(answer.body.request_id).toLowerCase()}`);
  });

  it.each([
    ['headers that never end', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    [
      'a body that never comes',
      'POST /v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer fb_planner\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"title"',
    ],
    ['a connection that stays silent', ''],
  ])('%s is 408', async (_case, text) => {
    const answer = await exchange(text, SHORT);
    expect(answer.status).toBe(408);
    expect(answer.head).toContain(PROBLEM);
    expect(answer.body).toMatchObject({ code: 'request_timeout', retryable: true });
  });
});

describe('requests that Node would answer by itself', () => {
  it('without Host are a problem', async () => {
    const answer = await exchange('GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code: 'invalid_request' });
  });

  it('by HTTP/1.0 need no Host', async () => {
    expect((await exchange('GET /livez HTTP/1.0\r\n\r\n')).status).toBe(200);
  });

  it('with an expectation it does not know are served', async () => {
    const answer = await exchange(
      'GET /livez HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n',
    );
    expect(answer.status).toBe(200);
  });

  it('with a method that no route has are a problem', async () => {
    const answer = await exchange('PURGE /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(answer.status).toBe(405);
    expect(answer.head).toContain('allow: get, head');
  });

  it('for the server as a whole are a problem', async () => {
    const answer = await exchange('OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.head).toContain(PROBLEM);
  });

  it('that switch protocols are served as they are', async () => {
    const text = 'GET /livez HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade, close\r\n\r\n';
    expect((await exchange(text)).status).toBe(200);
  });
});

describe('a client that hangs up inside its body', () => {
  it('leaves no fault behind and does not disturb the next one', async () => {
    const http = await httpApp(plantTasks);
    app = http.app;
    await app.listen({ port: 0, host: '127.0.0.1' });
    const socket = await openSocket(app);
    const arrived = once(app.server, 'request');
    socket.write(
      'POST /v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer fb_planner\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"ti',
    );
    const [request] = await arrived;
    // Not once(): it would reject with the error that the request has on its way to being closed.
    const gone = new Promise((resolve) => request.on('error', () => undefined).on('close', resolve));
    socket.destroy();
    await gone;
    const next = await openSocket(app);
    const answer = readToEnd(next);
    next.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(parseAnswer(await answer).status).toBe(200);
    expect(http.lines.filter((line) => line.level === 'error')).toEqual([]);
  });
});

describe('a waiting call', () => {
  it('outlives the time that a request has to arrive', async () => {
    const waiting = gate();
    const plant = (planted: FastifyInstance): void => {
      planted.get('/v1/wait', { config: { roles: 'any' } }, async () => {
        await waiting.promise;
        return { done: true };
      });
    };
    const server = await listen(plant, SHORT);
    const socket = await openSocket(server);
    const answer = readToEnd(socket);
    socket.write(
      'GET /v1/wait HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer fb_planner\r\nConnection: close\r\n\r\n',
    );
    // A silent connection opened later is timed out first: by then the waiting one is older than its time.
    const silent = await openSocket(server);
    await readToEnd(silent);
    waiting.resolve();
    expect(parseAnswer(await answer)).toMatchObject({ status: 200, body: { done: true } });
  });
});

describe('an answer under way', () => {
  it('is not broken by nonsense on the same connection', async () => {
    const server = await listen((planted) => {
      planted.get('/stream', { config: { roles: 'public' } }, (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'text/plain' });
        reply.raw.write('first');
      });
    });
    const socket = await openSocket(server);
    const first = once(socket, 'data');
    const text = readToEnd(socket);
    socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
    await first;
    socket.write('nonsense\r\n\r\n');
    expect(await text).not.toContain('problem');
  });
});

describe('a server that closes', () => {
  it('answers what still arrives with 503 and Retry-After', async () => {
    const held = gate();
    const began = gate();
    const server = await listen((planted) => {
      planted.get('/held', { config: { roles: 'public' } }, async () => {
        await held.promise;
        return 'held';
      });
      planted.addHook('preClose', (done) => {
        began.resolve();
        done();
      });
    });
    app = null;
    const socket = await openSocket(server);
    const text = readToEnd(socket);
    const first = once(server.server, 'request');
    socket.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\n');
    await first;
    const closed = server.close();
    await began.promise;
    const second = once(server.server, 'request');
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await second;
    held.resolve();
    await closed;
    const [, , late = ''] = (await text).split('HTTP/1.1 ');
    expect(late).toMatch(/^503 /);
    expect(late.toLowerCase()).toContain(PROBLEM);
    expect(late.toLowerCase()).toContain('retry-after: 1');
  });
});

describe('the options', () => {
  it('believe forwarded addresses only from the networks named', () => {
    const logger = pino({ level: 'silent' });
    expect(serverOptions({ logger, trustProxy: [] }).trustProxy).toBe(false);
    expect(serverOptions({ logger, trustProxy: ['10.0.0.0/8'] }).trustProxy).toEqual(['10.0.0.0/8']);
  });
});
