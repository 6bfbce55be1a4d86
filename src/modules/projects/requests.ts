import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, etagOf, parseIfMatch, sendJson } from '../../http/index.js';
import { decodeCursor, type PageRequest } from '../../kernel/page.js';
import { ok, type Result, refuse } from '../../kernel/refusal.js';
import type { Administered, By } from './administer.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

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

/** The version that a change was made for; it must be said. */
export function versionOf(request: FastifyRequest): Result<number | '*'> {
  const version = parseIfMatch(request.headers['if-match']);
  if (version === null) {
    return refuse(
      'version_required',
      'A change needs If-Match with the ETag of the version it was made for. Read the object first, then send its ETag.',
    );
  }
  if (version !== 'invalid') return ok(version);
  const detail = 'If-Match must be the ETag as it came with the object, like "v3".';
  return refuse('invalid_request', detail, {
    errors: [{ pointer: '/headers/if-match', detail, code: 'invalid_format' }],
  });
}

/** The page that a list is asked for, where the cursor is the id of the last object seen. */
export function pageOf(query: { limit: number; cursor?: string | undefined }): Result<PageRequest> {
  if (query.cursor === undefined) return ok({ limit: query.limit, after: null });
  const after = decodeCursor(query.cursor);
  if (after !== null && UUID.test(after)) return ok({ limit: query.limit, after });
  const detail = 'This cursor is not one of ours. Start again without it, and pass next_cursor as it came.';
  return refuse('invalid_request', detail, {
    errors: [{ pointer: '/query/cursor', detail, code: 'invalid_format' }],
  });
}
