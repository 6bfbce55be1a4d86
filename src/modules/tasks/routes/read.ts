import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { jsonOrMarkdown, pageOf } from '../../../http/fields.js';
import {
  callerOf,
  listOf,
  pageIn,
  preferredType,
  sendJson,
  sendMarkdown,
  sendVersioned,
} from '../../../http/index.js';
import { defined } from '../../../kernel/defined.js';
import { UUID } from '../../../kernel/ids.js';
import * as out from '../response.js';
import * as body from '../schema.js';
import type { Tasks } from '../service.js';
import { about } from './requests.js';

/** Reading tasks, what can be claimed, and what the guard says. */
export function readRoutes(plain: FastifyInstance, tasks: Tasks): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.get('/v1/tasks', {
    config: { roles: 'any' },
    schema: {
      ...about('list_tasks', 'List tasks, newest first'),
      querystring: body.taskQuery,
      response: { 200: pageOf(out.task) },
    },
    async handler(request, reply) {
      const { state, run_id, label, agent_id, parent_id, q, updated_since } = request.query;
      const asked = pageIn(request.query, UUID);
      if (!asked.ok) return reply.refuse(asked.refusal);
      const filter = defined({
        state,
        runId: run_id,
        label,
        agentId: agent_id,
        parentId: parent_id,
        text: q,
        updatedSince: updated_since,
      });
      const page = await tasks.reads.list(callerOf(request).projectId, filter, asked.value);
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, page, (task) => task)));
    },
  });
  app.get('/v1/tasks/claimable', {
    config: { roles: 'any' },
    schema: {
      ...about('look_at_claimable', 'See what you could claim, and why not more'),
      querystring: body.claimableQuery,
      response: { 200: out.claimable },
    },
    async handler(request, reply) {
      const actor = callerOf(request);
      const isReviewerOnly = actor.roles.includes('reviewer') && !actor.roles.includes('executor');
      const purpose = request.query.for ?? (isReviewerOnly ? 'review' : 'work');
      return sendJson(reply, 200, JSON.stringify(await tasks.reads.claimable(actor, purpose)));
    },
  });
  app.get('/v1/tasks/:id', {
    config: { roles: 'any', headers: ['if-none-match'] },
    schema: { ...about('get_task', 'Read a task'), params: body.taskParams, response: { 200: out.task } },
    async handler(request, reply) {
      const found = await tasks.reads.get(callerOf(request).projectId, request.params.id);
      if (!found.ok) return reply.refuse(found.refusal);
      return sendVersioned(request, reply, JSON.stringify(found.value.body), found.value.version);
    },
  });
  app.get('/v1/tasks/:id/guard', {
    config: { roles: 'any' },
    schema: {
      ...about('get_task_guard', 'Read every limit of a task, without acting'),
      params: body.taskParams,
      response: { 200: out.guardReading },
    },
    async handler(request, reply) {
      const found = await tasks.reads.guard(callerOf(request).projectId, request.params.id);
      return found.ok ? sendJson(reply, 200, JSON.stringify(found.value)) : reply.refuse(found.refusal);
    },
  });
  app.get('/v1/tasks/:id/brief', {
    config: { roles: 'any' },
    schema: {
      ...about('get_task_brief', 'Read what to know before working on a task (JSON, or Markdown by Accept)'),
      params: body.taskParams,
      response: { 200: jsonOrMarkdown(out.brief) },
    },
    async handler(request, reply) {
      const found = await tasks.reads.brief(callerOf(request).projectId, request.params.id);
      if (!found.ok) return reply.refuse(found.refusal);
      if (preferredType(request.headers.accept, ['application/json', 'text/markdown']) !== 'text/markdown') {
        return sendJson(reply, 200, JSON.stringify(found.value.json));
      }
      return sendMarkdown(reply, found.value.markdown);
    },
  });
}
