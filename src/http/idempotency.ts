import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidInput, RefusedRequest } from './errors.js';
import { pathOf } from './problem.js';

const MAX_LENGTH = 255;
const PRINTABLE = /^[\x20-\x7e]+$/;
/** A string of structured fields (RFC 8941): quotes and backslashes inside are escaped, nothing else is. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/** The key in the header's value, quoted or bare; null when it is not one. */
export function parseIdempotencyKey(header: string): string | null {
  const value = header.trim();
  let key = value;
  if (value.startsWith('"')) {
    const inner = QUOTED.exec(value)?.[1];
    if (inner === undefined) return null;
    key = inner.replace(/\\(["\\])/g, '$1');
  }
  return key.length <= MAX_LENGTH && PRINTABLE.test(key) ? key : null;
}

/** JSON with the fields of every object in one order, so that equal bodies are equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, sortFields) ?? 'null';
}

function sortFields(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // Without a prototype, so that no field name can be a setter.
  const sorted: Record<string, unknown> = Object.create(null);
  for (const [key, field] of Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) {
    sorted[key] = field;
  }
  return sorted;
}

function requestHash(request: FastifyRequest): string {
  return createHash('sha256')
    .update(`${request.method} ${pathOf(request.raw.url ?? '/')}\n${canonicalJson(request.body)}`)
    .digest('hex');
}

/** Reads the Idempotency-Key of every POST and PATCH, over the body as it was sent: before a schema fills in defaults. */
export function readIdempotencyKeys(app: FastifyInstance): void {
  app.decorateRequest('idempotency', null);
  app.addHook('preValidation', (request, _reply, done) => {
    const header = request.headers['idempotency-key'];
    if (header === undefined || (request.method !== 'POST' && request.method !== 'PATCH')) {
      done();
      return;
    }
    const key = typeof header === 'string' ? parseIdempotencyKey(header) : null;
    if (key === null) {
      const detail = `Must be 1 to ${MAX_LENGTH} printable ASCII characters, bare or in double quotes.`;
      const pointer = '/headers/idempotency-key';
      done(new RefusedRequest(invalidInput([{ pointer, detail, code: 'invalid_format' }])));
      return;
    }
    const route = `${request.method} ${request.routeOptions.url ?? ''}`;
    request.idempotency = { key, route, requestHash: requestHash(request) };
    done();
  });
}
