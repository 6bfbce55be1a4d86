import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { idIn } from '../../http/fields.js';
import { callerOf, sendAnswer, sendJson } from '../../http/index.js';
import { breakerListOut, breakerOut } from './response.js';
import type { Breakers } from './service.js';

const params = z.strictObject({ id: idIn('breaker') });
const body = z
  .strictObject({ reason: z.string().trim().min(1).max(10_000) })
  .meta({ examples: [{ reason: 'The key of this agent was revoked by its provider.' }] });

/** The breakers above tasks: the fleet's and each agent's. */
export function guardRoutes(plain: FastifyInstance, breakers: Breakers): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.get('/v1/breakers', {
    config: { roles: ['operator'] },
    schema: {
      operationId: 'list_breakers',
      tags: ['breakers'],
      summary: 'See what stands above tasks: the breaker of the fleet, and of each agent',
      response: { 200: breakerListOut },
    },
    async handler(request, reply) {
      const data = await breakers.list(callerOf(request).projectId);
      return sendJson(reply, 200, JSON.stringify({ data, next_cursor: null, has_more: false }));
    },
  });
  const commands = [
    { path: 'isolate', type: 'isolate_breaker', summary: 'Hold a breaker open until a person closes it' },
    { path: 'close', type: 'close_breaker', summary: 'Close a breaker, whatever opened it' },
  ] as const;
  for (const { path, type, summary } of commands) {
    app.post(`/v1/breakers/:id/${path}`, {
      config: { roles: ['operator'], command: type },
      schema: { operationId: type, tags: ['breakers'], summary, params, body, response: { 200: breakerOut } },
      async handler(request, reply) {
        const command = { type, breakerId: request.params.id, reason: request.body.reason };
        const { idempotency, trace } = request;
        return sendAnswer(
          reply,
          await breakers.send({ actor: callerOf(request), command, idempotency, request: trace }),
        );
      },
    });
  }
}
