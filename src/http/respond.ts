import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Answer } from '../kernel/answer.js';
import { decodeCursor, type Page } from '../kernel/page.js';
import type { Refusal } from '../kernel/refusal.js';
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

/** What a list says to a cursor that it did not give. */
export const INVALID_CURSOR: Refusal = {
  code: 'invalid_request',
  detail: 'This cursor is not one of ours. Start again without it, and pass next_cursor as it came.',
  errors: [{ pointer: '/query/cursor', detail: 'Is not a cursor of this list.', code: 'invalid' }],
};

/** The sort key in a cursor, null without one. */
export function cursorIn(cursor: string | undefined, form: RegExp): string | null | 'invalid' {
  if (cursor === undefined) return null;
  const key = decodeCursor(cursor);
  return key !== null && form.test(key) ? key : 'invalid';
}
