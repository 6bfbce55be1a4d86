import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { callerOf, goneSignal, sendJson } from '../../http/index.js';
import { limitsIn } from '../guard/index.js';
import * as out from './response.js';
import * as body from './schema.js';
import type { Simulator } from './simulator.js';

/** The route of the simulation. */
export function simulateRoutes(app: FastifyInstance, simulator: Simulator): void {
  app.withTypeProvider<ZodTypeProvider>().post('/v1/projects/current/simulate', {
    // It reads the log and changes nothing.
    config: { roles: ['planner', 'operator'], administrative: true },
    schema: {
      operationId: 'simulate',
      tags: ['trips'],
      summary: 'Replay the log under other limits, or have limits proposed',
      description:
        'Says which tasks and runs would have stopped, when, and what that would have saved. A limit given here stands for every task and run, over their own; what is left out stays as it was, so `{"limits": {}}` gives the stops that were made. Without `limits` it proposes some, from what finished tasks needed.',
      body: body.simulation,
      response: { 200: out.simulation },
    },
    async handler(request, reply) {
      const { limits, since } = request.body;
      const asked = { limits: limits === undefined ? null : limitsIn(limits), since: since ?? 0 };
      const result = await simulator.run(callerOf(request).projectId, asked, goneSignal(reply));
      return result.ok ? sendJson(reply, 200, JSON.stringify(result.value)) : reply.refuse(result.refusal);
    },
  });
}
