import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { pageQuery } from '../../http/fields.js';
import { callerOf, listOf, pageIn, sendJson } from '../../http/index.js';
import { fromWire, UUID } from '../../kernel/ids.js';
import { answerAdministered, byOf } from '../projects/index.js';
import * as schema from './schema.js';
import type { Agents } from './service.js';

const TAGS = ['agents'];
/** No agent has this id: what is not an id names nothing. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Serves agents, their keys, and the caller itself. */
export function agentsRoutes(app: FastifyInstance, agents: Agents): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v1/me',
    {
      config: { roles: 'any' },
      schema: {
        operationId: 'get_me',
        tags: TAGS,
        summary: 'Who am I',
        description: 'The project, agent and roles of your key.',
        response: { 200: schema.meOut },
      },
    },
    async (request, reply) => sendJson(reply, 200, JSON.stringify(await agents.me(callerOf(request)))),
  );

  routes.post(
    '/v1/agents',
    {
      config: { roles: ['operator'], administrative: true },
      schema: {
        operationId: 'create_agent',
        tags: TAGS,
        summary: 'Add an agent',
        description: 'One key is one agent. The key is in this answer and never shown again.',
        body: schema.createAgentBody,
        response: { 201: schema.newAgentOut },
      },
    },
    async (request, reply) =>
      answerAdministered(reply, 201, await agents.create(byOf(request), request.body)),
  );

  routes.get(
    '/v1/agents',
    {
      config: { roles: ['operator'] },
      schema: {
        operationId: 'list_agents',
        tags: TAGS,
        summary: 'List the agents of your project',
        querystring: pageQuery,
        response: { 200: schema.agentListOut },
      },
    },
    async (request, reply) => {
      const page = pageIn(request.query, UUID);
      if (!page.ok) return reply.refuse(page.refusal);
      const listed = await agents.list(callerOf(request).projectId, page.value);
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, listed, (agent) => agent)));
    },
  );

  routes.post(
    '/v1/agents/:id/keys',
    {
      config: { roles: ['operator'], administrative: true },
      schema: {
        operationId: 'create_agent_key',
        tags: TAGS,
        summary: 'Give an agent one more key',
        description:
          'The older keys go on working until they are revoked, so that a key can be changed without a gap.',
        params: schema.agentParams,
        body: schema.createKeyBody,
        response: { 201: schema.newKeyOut },
      },
    },
    async (request, reply) => {
      const agentId = fromWire('agent', request.params.id) ?? NOBODY;
      return answerAdministered(reply, 201, await agents.createKey(byOf(request), agentId));
    },
  );

  routes.delete(
    '/v1/agents/:id/keys/:key_id',
    {
      config: { roles: ['operator'], administrative: true },
      schema: {
        operationId: 'revoke_agent_key',
        tags: TAGS,
        summary: 'Revoke a key',
        description:
          'No process accepts the key longer than 5 seconds after this answer; its open streams end, and its waiting calls are given nothing, in the same time. Revoking it again changes nothing.',
        params: schema.keyParams,
        response: { 204: z.null().describe('The key is revoked.') },
      },
    },
    async (request, reply) => {
      const agentId = fromWire('agent', request.params.id) ?? NOBODY;
      const revoked = await agents.revokeKey(byOf(request), agentId, request.params.key_id);
      return revoked.ok ? reply.code(204).send(null) : reply.refuse(revoked.refusal);
    },
  );
}
