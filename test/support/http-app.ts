import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { z } from 'zod';
import { createLog, type HttpDeps, registerHttp, serverOptions } from '../../src/http/index.js';
import type { Actor, Role } from '../../src/kernel/actor.js';

/** An agent as authentication would find it, with one role or more. */
export function someActor(...roles: Role[]): Actor {
  const name = roles.join('-') || 'nobody';
  return { projectId: 'p1', agentId: `agent-${name}`, name, roles };
}

/** One key for each role, and one for an agent that has none. */
const ACTORS: Readonly<Record<string, Actor>> = {
  fb_planner: someActor('planner'),
  fb_executor: someActor('executor'),
  fb_operator: someActor('operator'),
};

/** A header with the key of that role. */
export function withKey(role: 'planner' | 'executor' | 'operator'): { authorization: string } {
  return { authorization: `Bearer fb_${role}` };
}

/** The HTTP layer with planted routes and nothing below it. */
export interface HttpApp {
  readonly app: FastifyInstance;
  /** Every line of the log so far. */
  readonly lines: Record<string, unknown>[];
  /** Moves the clock of the rate limits. */
  readonly advance: (ms: number) => void;
}

/** Builds the layer, lets `plant` add routes, and leaves the rest to the test. */
export async function httpApp(
  plant: (app: FastifyInstance) => void,
  deps: Partial<HttpDeps> = {},
  options: FastifyServerOptions = {},
): Promise<HttpApp> {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  const app = fastify({ ...serverOptions({ logger: log.logger, trustProxy: [] }), ...options });
  let now = 1_000;
  await registerHttp(app, {
    authenticate: (token) => ACTORS[token] ?? null,
    ready: () => ({ ok: true, reasons: [] }),
    limits: { requestsPerMinute: 6000, createdTasksPerMinute: 600 },
    version: '0.0.0',
    nowMs: () => now,
    ...deps,
  });
  plant(app);
  const advance = (ms: number): void => {
    now += ms;
  };
  return { app, lines, advance };
}

const task = z
  .strictObject({
    title: z.string().min(1).max(20),
    priority: z.int().min(0).max(9).default(5),
    labels: z.array(z.string()).optional(),
    result: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'TestTask' });

const answer = z.object({ id: z.string(), title: z.string() }).meta({ id: 'TestAnswer' });

/** Routes that have one of each: body, query, parameters, roles. */
export function plantTasks(app: FastifyInstance): void {
  app.route({
    method: 'POST',
    url: '/v1/tasks',
    config: { roles: ['planner'], command: 'create' },
    schema: {
      operationId: 'createTask',
      summary: 'Create a task',
      tags: ['tasks'],
      body: task,
      response: { 201: answer },
    },
    handler: (request, reply) =>
      reply.code(201).send({ body: request.body, idempotency: request.idempotency }),
  });
  app.route({
    method: 'GET',
    url: '/v1/tasks/:id',
    config: { roles: 'any', headers: ['if-none-match'] },
    schema: {
      operationId: 'getTask',
      summary: 'Read a task',
      tags: ['tasks'],
      params: z.object({ id: z.string().max(300) }),
      querystring: z.strictObject({
        limit: z.coerce.number().int().max(200).optional(),
        q: z.string().optional(),
      }),
      response: { 200: answer },
    },
    handler: (request, reply) =>
      reply.send({ params: request.params, query: request.query, trace: request.trace }),
  });
  app.route({
    method: 'POST',
    url: '/v1/tasks/:id/unblock',
    config: { roles: ['planner', 'operator'], command: 'unblock' },
    schema: {
      operationId: 'unblockTask',
      summary: 'Unblock a task',
      tags: ['tasks'],
      params: z.object({ id: z.string() }),
      body: z.strictObject({ reason: z.string().optional() }),
      response: { 200: answer },
    },
    handler: (request, reply) => reply.send({ body: request.body }),
  });
}

/** Opens a bare connection to a listening app. */
export async function openSocket(app: FastifyInstance): Promise<Socket> {
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('The app does not listen on a port');
  const socket = connect(address.port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Everything the server sends until it closes the connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  await once(socket, 'close');
  return text;
}

/** An HTTP answer taken apart. */
export function parseAnswer(text: string): { status: number; head: string; body: Record<string, unknown> } {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), body: JSON.parse(body) };
}
