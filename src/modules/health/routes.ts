import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { callerOf, sendJson } from '../../http/index.js';
import { checkup } from './response.js';
import type { Health } from './service.js';

/** The route of the health room. */
export function healthRoutes(app: FastifyInstance, health: Health): void {
  app.withTypeProvider<ZodTypeProvider>().get('/v1/health/invariants', {
    config: { roles: ['operator'] },
    schema: {
      operationId: 'check_invariants',
      tags: ['health'],
      summary: 'Check that the rows of your project agree with its log',
      description:
        'Holds every row and the whole log of the project against what always holds, at one moment. A rule that is broken is told in a 200 with `ok: false`. It reads everything there is: one check at a time, others answer 503.',
      response: { 200: checkup },
    },
    async handler(request, reply) {
      const result = await health.check(callerOf(request).projectId);
      return result.ok ? sendJson(reply, 200, JSON.stringify(result.value)) : reply.refuse(result.refusal);
    },
  });
}
