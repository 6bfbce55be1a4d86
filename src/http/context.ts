import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { holdsKey } from '../kernel/key-form.js';
import type { Refusal } from '../kernel/refusal.js';
import type { Gate } from './gates.js';

/** Addresses longer than this are refused, well below what Node's header limit cuts off. */
export const MAX_URL_LENGTH = 8192;

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

const processPrefix = randomBytes(9).toString('base64url').replaceAll('_', '.');
let counter = 0;

/** The `genReqId` option: the caller's X-Request-Id when it is one, else a prefix of this process and a count. */
export function requestIdOf(request: IncomingMessage | undefined): string {
  const given = request?.headers['x-request-id'];
  // It goes into the log and onto events, where a key must not come.
  if (typeof given === 'string' && REQUEST_ID.test(given) && !holdsKey(given)) return given;
  counter += 1;
  return `${processPrefix}-${counter.toString(36)}`;
}

/** An identifier for humans to follow a trace, no secret: the generator need not be a cryptographic one. */
function randomHex32(): string {
  return ((Math.random() * 0x1_0000_0000) >>> 0).toString(16).padStart(8, '0');
}

const tracePrefix = randomBytes(8).toString('hex');
const spanPrefix = randomBytes(4).toString('hex');

/** The trace id and header of a request: its own `traceparent` when valid, else a new one. */
export function traceOf(header: unknown): { traceId: string; traceparent: string } {
  if (typeof header === 'string') {
    const [, version, traceId, span, flags, rest] = TRACEPARENT.exec(header) ?? [];
    const valid =
      traceId !== undefined &&
      traceId !== NO_TRACE &&
      span !== NO_SPAN &&
      version !== 'ff' &&
      (version !== '00' || rest === undefined);
    if (valid) return { traceId, traceparent: `00-${traceId}-${span}-${flags}` };
  }
  const traceId = `${tracePrefix}${randomHex32()}${randomHex32()}`;
  return { traceId, traceparent: `00-${traceId}-${spanPrefix}${randomHex32()}-00` };
}

/** Gives the request its ids and sends them back with the answer. */
export function startTrace(request: FastifyRequest, reply: FastifyReply): void {
  const { traceId, traceparent } = traceOf(request.headers.traceparent);
  request.trace = { requestId: request.id, traceId };
  request.traceparent = traceparent;
  reply.header('x-request-id', request.id);
  reply.header('traceparent', traceparent);
}

const CLOSING: Refusal = {
  code: 'overloaded',
  detail: 'The server is about to stop and takes no new requests. Try again in a moment.',
};
const NO_HOST: Refusal = { code: 'invalid_request', detail: 'A request by HTTP/1.1 needs the header Host.' };
const LONG_URL: Refusal = {
  code: 'uri_too_long',
  detail: `The address is longer than ${MAX_URL_LENGTH} characters.`,
};

/** The first gate: gives the request its ids, then refuses what can be refused at once. */
export function createArrival(app: FastifyInstance): Gate {
  app.decorateRequest('trace');
  app.decorateRequest('traceparent');
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  return (request, reply) => {
    startTrace(request, reply);
    return refusedAtOnce(request.raw, closing);
  };
}

function refusedAtOnce(raw: IncomingMessage, closing: boolean): Refusal | null {
  if (closing) return CLOSING;
  // Node would answer these with an empty body, so its own check is off.
  if (raw.headers.host === undefined && raw.httpVersion === '1.1') return NO_HOST;
  return raw.url !== undefined && raw.url.length > MAX_URL_LENGTH ? LONG_URL : null;
}
