import type { FastifyRequest } from 'fastify';
import { ok, type Result, refuse } from '../kernel/refusal.js';

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

/** The version that If-Match insists on, null for any; refused when it is no ETag of ours. */
export function versionIn(request: FastifyRequest): Result<number | null> {
  const version = parseIfMatch(request.headers['if-match']);
  if (version === '*') return ok(null);
  if (version !== 'invalid') return ok(version);
  const detail = 'If-Match must be the ETag as it came with the object, like "v3".';
  return refuse('invalid_request', detail, {
    errors: [{ pointer: '/headers/if-match', detail, code: 'invalid_format' }],
  });
}

/** The same, for a change that must say which version it was made for. */
export function requiredVersionIn(request: FastifyRequest): Result<number | null> {
  if (request.headers['if-match'] !== undefined) return versionIn(request);
  return refuse(
    'version_required',
    'A change needs If-Match with the ETag of the version it was made for. Read the object first, then send its ETag.',
  );
}
