import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { pageOf, pageQuery } from '../../../http/fields.js';
import { callerOf, listOf, pageIn, sendJson } from '../../../http/index.js';
import type { PageRequest } from '../../../kernel/page.js';
import { type Events, eventListOut, eventToWire } from '../../events/index.js';
import * as out from '../response.js';
import * as body from '../schema.js';
import type { Tasks } from '../service.js';
import { about } from './requests.js';

const ATTEMPT_NUMBER = /^\d{1,9}$/;
const POSITION = /^\d{1,15}$/;

/** What became of a task: its attempts and its events. */
export function historyRoutes(plain: FastifyInstance, tasks: Tasks, events: Events): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.get('/v1/tasks/:id/attempts', {
    config: { roles: 'any' },
    schema: {
      ...about('list_attempts', "List a task's attempts, first to last"),
      params: body.taskParams,
      querystring: pageQuery,
      response: { 200: pageOf(out.attempt) },
    },
    async handler(request, reply) {
      const asked = pageIn(request.query, ATTEMPT_NUMBER);
      if (!asked.ok) return reply.refuse(asked.refusal);
      const page = await tasks.reads.attempts(
        callerOf(request).projectId,
        request.params.id,
        asNumbered(asked.value),
      );
      if (!page.ok) return reply.refuse(page.refusal);
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, page.value, (attempt) => attempt)));
    },
  });
  app.get('/v1/tasks/:id/events', {
    config: { roles: 'any' },
    schema: {
      ...about('list_task_events', "List a task's events, first to last, without gaps"),
      params: body.taskParams,
      querystring: pageQuery,
      response: { 200: eventListOut },
    },
    async handler(request, reply) {
      const { projectId } = callerOf(request);
      const { id } = request.params;
      const asked = pageIn(request.query, POSITION);
      if (!asked.ok) return reply.refuse(asked.refusal);
      const task = await tasks.reads.get(projectId, id);
      if (!task.ok) return reply.refuse(task.refusal);
      const page = await events.list(projectId, { taskId: id }, asNumbered(asked.value));
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, page, eventToWire)));
    },
  });
}

function asNumbered({ limit, after }: PageRequest): { readonly limit: number; readonly after: number } {
  return { limit, after: Number(after ?? 0) };
}
