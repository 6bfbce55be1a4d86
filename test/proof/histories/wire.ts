import type { Answer, Sent } from './specification.js';
import { type Call, type Fields, LEASE_SECONDS, LIMITS } from './task.js';

/** From the specification's words to HTTP, and back. */

/** A request as it goes over the wire. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** An answer as it came over the wire. */
export interface HttpAnswer {
  readonly status: number;
  readonly replayed: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A task's own limits on the wire. What no history is about is out of reach. */
export const WIRE_LIMITS = {
  max_reworks: LIMITS.reworks,
  max_errors: LIMITS.errors,
  max_tokens: LIMITS.tokens,
  max_review_failures: LIMITS.reviewFailures,
  max_unblocks: LIMITS.unblocks,
  max_attempts: 1_000,
} as const;

/** The request that a client makes of what it sends. */
export function requestOf(taskId: string, id: string, sent: Sent, apiKey: string): HttpRequest {
  const { call, key, version } = sent;
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'x-request-id': id,
    ...(key === null ? {} : { 'idempotency-key': key }),
    ...(version === null ? {} : { 'if-match': `"v${version}"` }),
  };
  if (call.type === 'read') return { method: 'GET', path: `/v1/tasks/${taskId}`, headers };
  return { method: 'POST', path: `/v1/tasks/${taskId}/${call.type}`, headers, body: bodyOf(call, key ?? id) };
}

/** `word`: the same whenever the same command is sent again, and never otherwise. */
function bodyOf(call: Exclude<Call, { type: 'read' }>, word: string): object {
  switch (call.type) {
    case 'claim':
      return { for: call.purpose, lease_seconds: LEASE_SECONDS };
    case 'usage':
      return { lease_token: call.token, tokens: { input: call.tokens } };
    case 'heartbeat':
      return { lease_token: call.token, ...usageOf(call.tokens) };
    case 'submit':
      return { lease_token: call.token, result: 'posts.json', ...usageOf(call.tokens) };
    case 'fail': {
      const error = { class: call.counts ? 'error' : 'rate_limited', message: 'no answer' };
      return { lease_token: call.token, error, retry_after_seconds: 0, ...usageOf(call.tokens) };
    }
    case 'release':
      return { lease_token: call.token };
    case 'approve':
      return { attempt: call.attempt, lease_token: call.token };
    case 'rework': {
      const verdict = call.broken ? 'infrastructure' : 'defect';
      return { reason: 'not yet', class: verdict, attempt: call.attempt, lease_token: call.token };
    }
    case 'block':
      return { kind: 'other', reason: 'wait' };
    case 'unblock': {
      const { to, changes, resetTokens } = call;
      return {
        reason: 'go on',
        to,
        reset_tokens: resetTokens,
        changes: changes ? { description: word } : {},
      };
    }
    case 'cancel':
      return { reason: 'not wanted' };
  }
}

function usageOf(tokens: number): object {
  return tokens === 0 ? {} : { usage: { tokens: { output: tokens } } };
}

/** What an answer says, in the specification's words; null when it says nothing of the command's fate. */
export function answerOf(call: Call, { status, replayed, body }: HttpAnswer): Answer | null {
  if (status >= 500 || status === 429) return null;
  if (status !== 200) return { code: textIn(body, 'code'), fields: null, replayed };
  if (call.type === 'heartbeat')
    return { code: 'ok', fields: { directive: textIn(body, 'directive') }, replayed };
  if (call.type !== 'claim') return { code: 'ok', fields: taskIn(body), replayed };
  const fields = { ...taskIn(objectIn(body, 'task')), lease_token: numberIn(body, 'lease_token') };
  return { code: 'ok', fields, replayed };
}

/** When the lease ends that an answer gives or extends, by the database's clock; null where it does neither. */
export function leaseEndIn({ type }: Call, { status, body }: HttpAnswer): number | null {
  const { lease_expires_at: end } = body;
  const tells = status === 200 && (type === 'claim' || type === 'heartbeat');
  return tells && typeof end === 'string' ? Date.parse(end) : null;
}

const COUNTS = [
  'attempt',
  'rework_count',
  'rework_total',
  'error_count',
  'error_total',
  'review_failures',
  'tokens_used',
  'unblock_count',
  'trip_count',
  'version',
] as const;

function taskIn(body: object): Fields {
  const reason = Reflect.get(body, 'block_reason');
  const claimedBy = Reflect.get(body, 'claimed_by');
  return {
    state: textIn(body, 'state'),
    block: reason === null ? null : textIn(objectIn(body, 'block_reason'), 'kind'),
    claimed_by: claimedBy === null ? null : textIn(body, 'claimed_by'),
    tripped: Reflect.get(body, 'open_trip_id') !== null,
    ...Object.fromEntries(COUNTS.map((name) => [name, numberIn(body, name)])),
  };
}

/** A text field of an answer. */
export function textIn(body: object, name: string): string {
  const value: unknown = Reflect.get(body, name);
  if (typeof value !== 'string') throw new Error(`${name} is missing in ${JSON.stringify(body)}`);
  return value;
}

/** A number of an answer. */
export function numberIn(body: object, name: string): number {
  const value: unknown = Reflect.get(body, name);
  if (typeof value !== 'number') throw new Error(`${name} is missing in ${JSON.stringify(body)}`);
  return value;
}

/** An object within an answer. */
export function objectIn(body: object, name: string): object {
  const value: unknown = Reflect.get(body, name);
  if (typeof value !== 'object' || value === null)
    throw new Error(`${name} is missing in ${JSON.stringify(body)}`);
  return value;
}
