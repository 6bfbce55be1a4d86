import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Refusal } from '../kernel/refusal.js';
import { MAX_URL_LENGTH, requestIdOf } from './context.js';
import { problemOf, retryAfterOf } from './problem.js';

/** An error of the HTTP parser, as Node emits it. */
export interface ClientError extends Error {
  readonly code?: string;
  readonly rawPacket?: unknown;
}

const REQUEST_LINE = /^[A-Z-]{3,20} \S{1,8}/;

/** The packet starts with a request line that alone is longer than any address served here. */
function isLongRequestLine(error: ClientError): boolean {
  const packet = error.rawPacket;
  if (!Buffer.isBuffer(packet) || !REQUEST_LINE.test(packet.toString('latin1', 0, 32))) return false;
  const end = packet.indexOf('\r\n');
  return end === -1 || end > MAX_URL_LENGTH;
}

/** What the parser's error means to the client. */
export function refusalOfClientError(error: ClientError): Refusal {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        code: 'request_timeout',
        detail: 'The request did not arrive in time, so the connection is closed.',
      };
    case 'HPE_HEADER_OVERFLOW':
      return isLongRequestLine(error)
        ? { code: 'uri_too_long', detail: 'The address is longer than the server reads.' }
        : { code: 'headers_too_large', detail: 'The headers together are larger than the server reads.' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return {
        code: 'too_large',
        detail: 'The chunk extensions of the body are larger than the server reads.',
      };
    default:
      return { code: 'invalid_request', detail: 'This is not a request in HTTP/1.1 that can be understood.' };
  }
}

/** The whole answer, as it goes over the wire. */
export function rawAnswer(refusal: Refusal): string {
  const requestId = requestIdOf(undefined);
  const problem = problemOf(refusal, { path: '/', requestId, nextCalls: [] });
  const body = JSON.stringify(problem);
  const retryAfter = retryAfterOf(refusal);
  const lines = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`,
    'Content-Type: application/problem+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...(retryAfter === null ? [] : [`Retry-After: ${retryAfter}`]),
    'Cache-Control: no-store',
    'Connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Whether an answer is already on its way over this socket: another one would end up inside it. */
function isAnswering(socket: Socket): boolean {
  const message: unknown = Reflect.get(socket, '_httpMessage');
  return typeof message === 'object' && message !== null && Reflect.get(message, 'headersSent') === true;
}

/** The `clientErrorHandler` option: answers what never became a request, then closes the connection. */
export function answerClientError(error: ClientError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  // Not destroy(): the answer would be lost with the client's unread bytes. The socket is dropped once it is written.
  socket.end(rawAnswer(refusalOfClientError(error)), () => socket.destroy());
}

/**
 * Serves requests with an `Expect` that nobody knows, as RFC 9110 allows: Node by itself answers them with an empty 417,
 * before any hook.
 */
export function ignoreExpectations(server: Server): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}
