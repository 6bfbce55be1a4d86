import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf, goneSignal, sendAnswer } from '../../../http/index.js';
import type { Actor } from '../../../kernel/actor.js';
import * as commands from '../commands.js';
import * as out from '../response.js';
import * as body from '../schema.js';
import type { Tasks } from '../service.js';
import { about, conditioned, envelopeOf, rolesOf } from './requests.js';

/** Whether a caller may still be served: asked when a wait ends. */
export type StillWelcome = (actor: Actor) => Promise<boolean>;

/** Taking work, and taking reviews. */
export function claimRoutes(plain: FastifyInstance, tasks: Tasks, isWelcome: StillWelcome): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.post('/v1/tasks/claim', {
    config: { roles: rolesOf('claim_next'), command: 'claim_next', headers: ['prefer'] },
    schema: {
      ...about('claim_next_task', 'Claim the next task, to work on or to review'),
      querystring: body.waitQuery,
      body: body.claimNext,
      response: { 200: out.claims, 204: z.null().meta({ description: 'There is nothing to claim.' }) },
    },
    async handler(request, reply) {
      const purpose = request.body.for ?? (callerOf(request).roles.includes('executor') ? 'work' : 'review');
      const envelope = envelopeOf(request, commands.claimNext(request.body, purpose));
      const waitMs = (request.query.wait_seconds ?? preferredWait(request)) * 1000;
      const answer =
        waitMs === 0
          ? await tasks.send(envelope)
          : await tasks.claim(envelope, waitMs, goneSignal(reply), () => isWelcome(envelope.actor));
      return sendAnswer(
        reply,
        request.body.include_brief ? await tasks.reads.withBriefs(envelope.actor.projectId, answer) : answer,
      );
    },
  });
  app.post('/v1/tasks/:id/claim', {
    config: { roles: rolesOf('claim'), command: 'claim', headers: ['if-match'] },
    schema: {
      ...about('claim_task', 'Claim one task by its id'),
      params: body.taskParams,
      body: body.claimOne.default(body.claimOne.parse({})),
      response: { 200: out.claim },
    },
    async handler(request, reply) {
      const { id } = request.params;
      const command = commands.claimOne(id, request.body);
      const sent = conditioned(request, command, request.body.expected_state);
      if (!sent.ok) return reply.refuse(sent.refusal);
      const envelope = envelopeOf(request, sent.value);
      const answer = await tasks.send(envelope);
      return sendAnswer(
        reply,
        request.body.include_brief ? await tasks.reads.withBriefs(envelope.actor.projectId, answer) : answer,
      );
    },
  });
}

/** How long `Prefer: wait=20` asks to wait, in seconds; 0 without it, 30 at most. */
function preferredWait(request: FastifyRequest): number {
  const header = request.headers.prefer;
  const wait = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,4})"?/i.exec(
    Array.isArray(header) ? header.join(',') : (header ?? ''),
  )?.[1];
  return wait === undefined ? 0 : Math.min(Number(wait), 30);
}
