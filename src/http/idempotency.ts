import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { holdsKey } from '../kernel/key-form.js';
import { invalidInput } from './errors.js';
import type { Gate } from './gates.js';
import { KEY_FAULT } from './input-guard.js';
import { pathOf } from './problem.js';

const POINTER = '/headers/idempotency-key';
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

/**
 * JSON with the fields of every object in one order, so that equal bodies are equal text. Calls itself: the input guard
 * has bounded the depth before.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const fields = Object.keys(value).sort();
  return `{${fields.map((key) => `${JSON.stringify(key)}:${canonicalJson(Reflect.get(value, key))}`).join(',')}}`;
}

function requestHash(request: FastifyRequest): string {
  const path = pathOf(request.raw.url ?? '/');
  return hash('sha256', `${request.method} ${path}\n${canonicalJson(request.body)}`, 'hex');
}

/** Reads the Idempotency-Key of every POST and PATCH, over the body as it was sent: before a schema fills in defaults. */
export function createKeyReader(app: FastifyInstance): Gate {
  app.decorateRequest('idempotency', null);
  return (request) => {
    const header = request.headers['idempotency-key'];
    if (header === undefined || (request.method !== 'POST' && request.method !== 'PATCH')) return null;
    const key = typeof header === 'string' ? parseIdempotencyKey(header) : null;
    if (key === null) {
      const detail = `Must be 1 to ${MAX_LENGTH} printable ASCII characters, bare or in double quotes.`;
      return invalidInput([{ pointer: POINTER, detail, code: 'invalid_format' }]);
    }
    if (holdsKey(key)) return invalidInput([{ pointer: POINTER, ...KEY_FAULT }]);
    const route = `${request.method} ${request.routeOptions.url ?? ''}`;
    request.idempotency = { key, route, requestHash: requestHash(request) };
    return null;
  };
}
