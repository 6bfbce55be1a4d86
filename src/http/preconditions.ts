import type { FastifyRequest } from 'fastify';
import type { Refusal } from '../kernel/refusal.js';

const VERSION_TAG = /^"v(0|[1-9]\d{0,14})"$/;

/** The ETag of a version. */
export function etagOf(version: number): string {
  return `"v${version}"`;
}

/**
 * The version a caller insists on: `*` for any, null when the header is missing, `'invalid'` when it is not an ETag of
 * ours. Weak tags are invalid here, because If-Match compares strongly (RFC 9110).
 */
export function parseIfMatch(header: string | undefined): number | '*' | 'invalid' | null {
  if (header === undefined) return null;
  const value = header.trim();
  if (value === '*') return '*';
  const version = VERSION_TAG.exec(value)?.[1];
  return version === undefined ? 'invalid' : Number(version);
}

/** Whether the caller of a GET already has this version (If-None-Match: a list, weak tags, or `*`). */
export function notModified(request: FastifyRequest, version: number): boolean {
  const header = request.headers['if-none-match'];
  if (header === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
  if (header.trim() === '*') return true;
  const tag = etagOf(version);
  return header.split(',').some((part) => part.trim().replace(/^W\//, '') === tag);
}

/** The version that If-Match insists on, null for any; a refusal when it is no ETag of ours. */
export function versionIn(request: FastifyRequest): number | Refusal | null {
  const version = parseIfMatch(request.headers['if-match']);
  if (version === '*') return null;
  if (version !== 'invalid') return version;
  return {
    code: 'invalid_request',
    detail: 'If-Match must be an ETag as it came, like "v3".',
    errors: [{ pointer: '/headers/if-match', detail: 'Is not an ETag of ours.', code: 'invalid' }],
  };
}
