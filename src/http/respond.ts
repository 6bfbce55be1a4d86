import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Answer } from '../kernel/answer.js';
import { decodeCursor, type Page, type PageRequest } from '../kernel/page.js';
import { ok, type Result, refuse } from '../kernel/refusal.js';
import { etagOf, notModified } from './preconditions.js';

/** Sends an answer that is already JSON text. */
export function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(json);
}

/** Sends a document for an agent's prompt or an operator's eyes. */
export function sendMarkdown(reply: FastifyReply, markdown: string): FastifyReply {
  return reply.header('content-type', 'text/markdown; charset=utf-8').send(markdown);
}

/** Sends a single object with the ETag of its version; 304 when the caller of a GET has that version. */
export function sendVersioned(
  request: FastifyRequest,
  reply: FastifyReply,
  json: string,
  version: number,
  status = 200,
): FastifyReply {
  reply.header('etag', etagOf(version));
  if (notModified(request, version)) return reply.code(304).send();
  return sendJson(reply, status, json);
}

/** Sends what a command was answered with. */
export function sendAnswer(reply: FastifyReply, answer: Answer): FastifyReply {
  switch (answer.kind) {
    case 'refused':
      return reply.refuse(answer.refusal);
    case 'none':
      return reply.code(204).send();
    default:
      if (answer.version !== null) reply.header('etag', etagOf(answer.version));
      if (answer.replayed) reply.header('idempotency-replayed', 'true');
      return sendJson(reply, answer.kind === 'created' ? 201 : 200, answer.body);
  }
}

/** A page on the wire. */
export interface ListBody<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
  readonly has_more: boolean;
}

/** The body of a list, and the Link header that leads to its next page. */
export function listOf<T, U>(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Page<T>,
  shape: (item: T) => U,
): ListBody<U> {
  const { nextCursor } = page;
  if (nextCursor !== null)
    reply.header('link', `<${nextPage(request.raw.url ?? '/', nextCursor)}>; rel="next"`);
  return { data: page.data.map(shape), next_cursor: nextCursor, has_more: nextCursor !== null };
}

function nextPage(url: string, cursor: string): string {
  const [path, query] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `${path}?${parameters.toString()}`;
}

/** The page that a list is asked for. `key` is the form of the list's sort key, which its cursors carry. */
export function pageIn(
  query: { readonly limit: number; readonly cursor?: string | undefined },
  key: RegExp,
): Result<PageRequest> {
  const { limit, cursor } = query;
  if (cursor === undefined) return ok({ limit, after: null });
  const after = decodeCursor(cursor);
  if (after !== null && key.test(after)) return ok({ limit, after });
  const detail = 'This cursor is not one of ours. Start again without it, and pass next_cursor as it came.';
  return refuse('invalid_request', detail, {
    errors: [{ pointer: '/query/cursor', detail, code: 'invalid_format' }],
  });
}

/** Aborts when the caller hangs up before it has its answer. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort());
  return controller.signal;
}
