import type { Role } from './actor.js';
import type { IdKind } from './ids.js';
import type { JsonObject } from './json.js';

/**
 * Every expected "no", by its code. Which HTTP status a code has is known only to `http/problem.ts`;
 * each has a page under `/problems/<code>`.
 */
export const REFUSAL_CODES = [
  'invalid_request',
  'invalid_json',
  'unauthenticated',
  'forbidden_role',
  'self_review',
  'escalation_required',
  'not_found',
  'method_not_allowed',
  'invalid_transition',
  'task_blocked',
  'run_tripped',
  'run_closed',
  'already_claimed',
  'lease_lost',
  'verdict_already_recorded',
  'stale_attempt',
  'dependency_unmet',
  'not_yet_due',
  'excluded_agent',
  'agent_breaker_open',
  'session_must_clear',
  'duplicate',
  'isolated',
  'stale_version',
  'version_required',
  'too_large',
  'uri_too_long',
  'unsupported_media_type',
  'not_acceptable',
  'idempotency_key_reused',
  'empty_result',
  'nothing_changed',
  'still_over_limit',
  'dependency_cycle',
  'request_timeout',
  'headers_too_large',
  'rate_limited',
  'fleet_breaker_open',
  'database_unavailable',
  'overloaded',
  'internal_error',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** One thing wrong with the input: where (JSON pointer), what, and a short code of its own. */
export interface InputError {
  readonly pointer: string;
  readonly detail: string;
  readonly code: string;
}

/** A call that the caller, or somebody of the named role, may make now. The HTTP layer knows its path. */
export interface NextAction {
  readonly call: string;
  readonly on?: { readonly kind: IdKind; readonly id: string };
  readonly role?: Role;
}

/** An expected "no" as a value. Never thrown by the core. */
export interface Refusal {
  readonly code: RefusalCode;
  /** What is wrong and what to do next, for a reader who has only this sentence. */
  readonly detail: string;
  /** Whether the same call can succeed later without anybody acting. */
  readonly retryable?: boolean;
  readonly retryAfterSeconds?: number;
  readonly nextActions?: readonly NextAction[];
  readonly errors?: readonly InputError[];
  /** Facts beside the sentence, in the words of the wire: state, holder, value, limit … */
  readonly facts?: JsonObject;
}

/** The outcome of something that may be refused. */
export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal };

/** A successful result. */
export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** A refused result. */
export function refuse(
  code: RefusalCode,
  detail: string,
  more: Omit<Refusal, 'code' | 'detail'> = {},
): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal: { code, detail, ...more } };
}
