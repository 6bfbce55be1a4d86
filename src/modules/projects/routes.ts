import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { pageQuery } from '../../http/fields.js';
import { callerOf, listOf, pageIn, requiredVersionIn, sendJson, sendVersioned } from '../../http/index.js';
import { UUID } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import { answerAdministered, byOf } from './requests.js';
import { createProjectBody, newProjectOut, projectListOut, projectOut, updateProjectBody } from './schema.js';
import type { Projects } from './service.js';

const TAGS = ['projects'];

/** Serves the caller's project, and all of them to who runs the server. `limits` is the wire's form of changed limits. */
export function projectsRoutes(
  app: FastifyInstance,
  projects: Projects,
  limits: z.ZodType<JsonObject>,
): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v1/projects/current',
    {
      config: { roles: 'any', headers: ['if-none-match'] },
      schema: {
        operationId: 'get_project',
        tags: TAGS,
        summary: 'Read your project',
        description: 'The project that your key belongs to, with its own limits and those in force.',
        response: { 200: projectOut },
      },
    },
    async (request, reply) => {
      const { body, version } = await projects.current(callerOf(request));
      return sendVersioned(request, reply, JSON.stringify(body), version);
    },
  );

  routes.patch(
    '/v1/projects/current',
    {
      config: { roles: ['operator'], administrative: true, headers: ['if-match'] },
      schema: {
        operationId: 'update_project',
        tags: TAGS,
        summary: 'Change limits and policies of your project',
        description:
          'What is left out stays as it is. `null` lifts `max_cost_usd`, `max_run_tokens` or `max_run_cost_usd`, and gives any other setting back to the server. Needs `If-Match`.',
        body: updateProjectBody(limits),
        response: { 200: projectOut },
      },
    },
    async (request, reply) => {
      const version = requiredVersionIn(request);
      if (!version.ok) return reply.refuse(version.refusal);
      const { limits: changed = {}, policies = {} } = request.body;
      const result = await projects.update(byOf(request), { limits: changed, policies }, version.value);
      return answerAdministered(reply, 200, result);
    },
  );

  routes.post(
    '/v1/projects',
    {
      config: { roles: ['operator'], administrative: true },
      schema: {
        operationId: 'create_project',
        tags: TAGS,
        summary: 'Make a project',
        description:
          'Only for the operator of the default project, who runs the server. The answer has, once, the key of the new project’s operator.',
        body: createProjectBody,
        response: { 201: newProjectOut },
      },
    },
    async (request, reply) =>
      answerAdministered(reply, 201, await projects.create(byOf(request), request.body.name)),
  );

  routes.get(
    '/v1/projects',
    {
      config: { roles: ['operator'] },
      schema: {
        operationId: 'list_projects',
        tags: TAGS,
        summary: 'List all projects of the server',
        description: 'Only for the operator of the default project, who runs the server.',
        querystring: pageQuery,
        response: { 200: projectListOut },
      },
    },
    async (request, reply) => {
      const page = pageIn(request.query, UUID);
      if (!page.ok) return reply.refuse(page.refusal);
      const result = await projects.list(callerOf(request), page.value);
      if (!result.ok) return reply.refuse(result.refusal);
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, result.value, (project) => project)));
    },
  );
}
