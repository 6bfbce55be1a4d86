import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { callerOf, goneSignal, listOf, sendJson } from '../../http/index.js';
import type { Actor } from '../../kernel/actor.js';
import { defined } from '../../kernel/defined.js';
import type { EventType } from '../../kernel/event.js';
import { decodeCursor } from '../../kernel/page.js';
import type { Refusal } from '../../kernel/refusal.js';
import { eventListOut, feedQuery, streamOut, streamQuery } from './schema.js';
import type { Events } from './service.js';
import { LOOK_UP_MS, messagesOf } from './stream.js';
import type { EventFilter } from './types.js';
import { eventToWire } from './wire.js';

const TAGS = ['events'];
const POSITION = /^\d{1,15}$/;

/** Whether a caller may still be served: asked while a stream goes on. */
export type StillWelcome = (actor: Actor) => Promise<boolean>;

/** Serves the log of the caller's project, in pages and as a stream. */
export function eventsRoutes(app: FastifyInstance, events: Events, isWelcome: StillWelcome): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v1/events',
    {
      config: { roles: 'any' },
      schema: {
        operationId: 'list_events',
        tags: TAGS,
        summary: 'Read the log',
        description:
          'In the order of positions, which is the order of commits: whoever reads on from the last position seen misses nothing.',
        querystring: feedQuery,
        response: { 200: eventListOut },
      },
    },
    async (request, reply) => {
      const { after, cursor, limit, wait_seconds, ...wanted } = request.query;
      const position = positionIn(cursor ?? after);
      if (position === null)
        return reply.refuse(noPosition(cursor === undefined ? '/query/after' : '/query/cursor'));
      const actor = callerOf(request);
      const { projectId } = actor;
      const filter = filterOf(wanted);
      const page = { after: position, limit };
      const found =
        wait_seconds === 0
          ? await events.list(projectId, filter, page)
          : await events.wait(projectId, filter, page, wait_seconds * 1000, goneSignal(reply), () =>
              isWelcome(actor),
            );
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, found, eventToWire)));
    },
  );

  routes.get(
    '/v1/events/stream',
    {
      config: { roles: 'any', headers: ['last-event-id'] },
      schema: {
        operationId: 'stream_events',
        tags: TAGS,
        summary: 'Follow the log as server-sent events',
        description:
          'Goes on after `Last-Event-ID`, else after `after`, else from the start of the log. A client that takes nothing for 30 seconds is disconnected and may come back with `Last-Event-ID`.',
        querystring: streamQuery,
        response: {
          200: { description: 'The stream.', content: { 'text/event-stream': { schema: streamOut } } },
        },
      },
    },
    (request, reply) => {
      const { after, ...wanted } = request.query;
      const header = request.headers['last-event-id'];
      const position = positionIn(typeof header === 'string' ? header : after);
      if (position === null)
        return reply.refuse(noPosition(header === undefined ? '/query/after' : '/headers/last-event-id'));
      const actor = callerOf(request);
      const gone = goneSignal(reply);
      const batches = events.follow(actor.projectId, filterOf(wanted), position, LOOK_UP_MS, gone);
      const stream = Readable.from(
        messagesOf(batches, { isWelcome: () => isWelcome(actor), hangUp: () => reply.raw.destroy() }),
        { objectMode: false, highWaterMark: 1 },
      );
      return (
        reply
          .header('content-type', 'text/event-stream; charset=utf-8')
          .header('cache-control', 'no-store')
          // Proxies that collect an answer before they pass it on would hold the events back.
          .header('x-accel-buffering', 'no')
          .send(stream)
      );
    },
  );
}

function positionIn(text: string | undefined): number | null {
  if (text === undefined || text === '') return 0;
  const position = POSITION.test(text) ? text : decodeCursor(text);
  return position !== null && POSITION.test(position) ? Number(position) : null;
}

function noPosition(pointer: string): Refusal {
  const detail = 'Must be the position of an event, a whole number, or a next_cursor as it came.';
  return { code: 'invalid_request', detail, errors: [{ pointer, detail, code: 'invalid_format' }] };
}

interface Wanted {
  readonly type?: EventType | EventType[] | undefined;
  readonly task_id?: string | undefined;
  readonly agent_id?: string | undefined;
}

function filterOf({ type, task_id: taskId, agent_id: agentId }: Wanted): EventFilter {
  const types = type === undefined || Array.isArray(type) ? type : [type];
  return defined({ types, taskId, agentId });
}
