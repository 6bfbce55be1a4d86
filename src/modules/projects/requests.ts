import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, etagOf, sendJson } from '../../http/index.js';
import type { Result } from '../../kernel/refusal.js';
import type { Administered, By } from './administer.js';

/** Who sends an administrative request. */
export function byOf(request: FastifyRequest): By {
  return { actor: callerOf(request), request: request.trace, idempotency: request.idempotency };
}

/** Answers an administrative request. */
export function answerAdministered(
  reply: FastifyReply,
  status: number,
  result: Result<Administered>,
): FastifyReply {
  if (!result.ok) return reply.refuse(result.refusal);
  const { body, version, replayed } = result.value;
  if (version !== null) reply.header('etag', etagOf(version));
  if (replayed) reply.header('idempotency-replayed', 'true');
  return sendJson(reply, status, body);
}
