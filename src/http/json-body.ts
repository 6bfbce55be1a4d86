import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Refusal } from '../kernel/refusal.js';
import { invalidInput, RefusedRequest } from './errors.js';
import type { Gate } from './gates.js';
import { MAX_DEPTH } from './input-guard.js';

/** Below this a body cannot nest deep enough to cost anything; the input guard finds it after parsing. */
const SCAN_FROM = 4096;

const BYTE_ORDER_MARK = 0xfeff;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const NOT_UTF8: Refusal = { code: 'invalid_json', detail: 'The body is not valid UTF-8.' };
const NOT_PLAIN: Refusal = {
  code: 'unsupported_media_type',
  detail: 'The body must be sent without a Content-Encoding.',
};

/** Whether a JSON text nests deeper than allowed: found by counting brackets, before anything is built. */
export function nestsTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      at = endOfString(text, at);
    } else if (character === OPEN_ARRAY || character === OPEN_OBJECT) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (character === CLOSE_ARRAY || character === CLOSE_OBJECT) {
      depth -= 1;
    }
  }
  return false;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === BACKSLASH) at += 1;
    else if (character === QUOTE) return at;
  }
  return text.length;
}

/** The parsed body; undefined when it is empty. Throws what the caller did wrong. */
export function parseJsonBody(request: FastifyRequest, body: Buffer): unknown {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw new RefusedRequest(NOT_PLAIN);
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new RefusedRequest(NOT_UTF8);
  let text = body.toString('utf8');
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1);
  if (text.length > SCAN_FROM && nestsTooDeep(text)) {
    const detail = `Nesting may be at most ${MAX_DEPTH} levels deep.`;
    throw new RefusedRequest(invalidInput([{ pointer: '', detail, code: 'too_deep' }]));
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new RefusedRequest({
      code: 'invalid_json',
      detail: 'The body is not valid JSON. Look for a missing quote, a trailing comma or a cut-off end.',
    });
  }
}

/** Makes JSON the only body there is. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    done(null, parseJsonBody(request, body));
  });
}

/**
 * An absent or empty body counts as `{}` where a route takes one, so that a command without arguments needs none, and a
 * missing field is named instead of the body.
 */
export const supplyBody: Gate = (request) => {
  if (request.body === undefined && request.routeOptions.schema?.body !== undefined) request.body = {};
  return null;
};
