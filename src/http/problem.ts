import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Json } from '../kernel/json.js';
import type { InputError, Refusal, RefusalCode } from '../kernel/refusal.js';
import { type NextCall, toNextCalls } from './operations.js';

/** What HTTP makes of a refusal code. */
export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** Whether the same call can succeed later without anybody acting, unless the refusal says otherwise. */
  readonly retryable: boolean;
  /** Sent as Retry-After when the refusal names no time of its own. */
  readonly retryAfterSeconds?: number;
}

/** The only place that knows which status a refusal has. A code without a row does not compile. */
export const PROBLEMS: Readonly<Record<RefusalCode, ProblemKind>> = {
  invalid_request: { status: 400, title: 'The request is not valid', retryable: false },
  invalid_json: { status: 400, title: 'The body is not JSON', retryable: false },
  unauthenticated: { status: 401, title: 'A valid key is needed', retryable: false },
  forbidden_role: { status: 403, title: 'Another role is needed', retryable: false },
  self_review: { status: 403, title: 'Nobody judges their own work', retryable: false },
  escalation_required: { status: 403, title: 'Only an operator may go on', retryable: false },
  not_found: { status: 404, title: 'Not found', retryable: false },
  method_not_allowed: { status: 405, title: 'The path does not take this method', retryable: false },
  invalid_transition: { status: 409, title: 'The task is not in a state for this command', retryable: false },
  task_blocked: { status: 409, title: 'The task is blocked', retryable: false },
  run_tripped: { status: 409, title: 'The run has been stopped by a limit', retryable: false },
  run_closed: { status: 409, title: 'The run is closed', retryable: false },
  already_claimed: { status: 409, title: 'Somebody else holds the task', retryable: true },
  lease_lost: { status: 409, title: 'The lease is no longer yours', retryable: false },
  verdict_already_recorded: { status: 409, title: 'The attempt already has a verdict', retryable: false },
  stale_attempt: { status: 409, title: 'There is a newer attempt', retryable: false },
  dependency_unmet: { status: 409, title: 'The task waits for another one', retryable: true },
  not_yet_due: { status: 409, title: 'The task may not start yet', retryable: true },
  excluded_agent: { status: 409, title: 'The task is not given to this agent', retryable: false },
  agent_breaker_open: { status: 409, title: 'The breaker of this agent is open', retryable: false },
  session_must_clear: { status: 409, title: 'The session must be handed off first', retryable: false },
  duplicate: { status: 409, title: 'It exists already', retryable: false },
  isolated: { status: 409, title: 'An operator has taken it out of service', retryable: false },
  stale_version: { status: 412, title: 'It has changed since you read it', retryable: false },
  too_large: { status: 413, title: 'The body is too large', retryable: false },
  uri_too_long: { status: 414, title: 'The address is too long', retryable: false },
  unsupported_media_type: { status: 415, title: 'The body must be JSON', retryable: false },
  not_acceptable: { status: 406, title: 'There is no such representation', retryable: false },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key was used before', retryable: false },
  empty_result: { status: 422, title: 'The result is empty', retryable: false },
  nothing_changed: { status: 422, title: 'Something must change first', retryable: false },
  still_over_limit: { status: 422, title: 'A limit would still be exceeded', retryable: false },
  dependency_cycle: { status: 422, title: 'The dependencies form a circle', retryable: false },
  version_required: { status: 428, title: 'If-Match is needed', retryable: false },
  request_timeout: { status: 408, title: 'The request did not arrive in time', retryable: true },
  headers_too_large: { status: 431, title: 'The headers are too large', retryable: false },
  rate_limited: { status: 429, title: 'Too many requests', retryable: true, retryAfterSeconds: 1 },
  fleet_breaker_open: { status: 503, title: 'The fleet is paused', retryable: true, retryAfterSeconds: 30 },
  database_unavailable: { status: 503, title: 'The database is away', retryable: true, retryAfterSeconds: 1 },
  overloaded: { status: 503, title: 'The server is busy', retryable: true, retryAfterSeconds: 1 },
  internal_error: { status: 500, title: 'Something broke here', retryable: true },
};

/** The body of every answer from 400 on (RFC 9457). Facts of the refusal stand beside these members. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: RefusalCode;
  readonly request_id: string;
  readonly retryable: boolean;
  readonly next_actions: readonly NextCall[];
  readonly errors?: readonly InputError[];
  readonly retry_after_seconds?: number;
  readonly [fact: string]: Json | undefined | readonly NextCall[] | readonly InputError[];
}

/** What a problem says about the request it answers. */
export interface ProblemSource {
  readonly path: string;
  readonly requestId: string;
  readonly nextCalls: readonly NextCall[];
}

/** The seconds of Retry-After, or null when the answer carries none. */
export function retryAfterOf(refusal: Refusal): number | null {
  const seconds = refusal.retryAfterSeconds ?? PROBLEMS[refusal.code].retryAfterSeconds;
  return seconds === undefined ? null : Math.max(1, Math.ceil(seconds));
}

/** A refusal as a problem of one request. */
export function problemOf(refusal: Refusal, source: ProblemSource): Problem {
  const kind = PROBLEMS[refusal.code];
  const retryAfter = retryAfterOf(refusal);
  return {
    // Facts come first, so that none can replace a standard member.
    ...refusal.facts,
    type: `/problems/${refusal.code}`,
    title: kind.title,
    status: kind.status,
    detail: refusal.detail,
    instance: source.path,
    code: refusal.code,
    request_id: source.requestId,
    retryable: refusal.retryable ?? kind.retryable,
    next_actions: source.nextCalls,
    ...(refusal.errors === undefined ? {} : { errors: refusal.errors }),
    ...(retryAfter === null ? {} : { retry_after_seconds: retryAfter }),
  };
}

/** The path of a URL, without its query: a query may hold what an answer or a log should not repeat. */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** A refusal as a problem of this request, with its next actions as calls. */
export function toProblem(refusal: Refusal, request: FastifyRequest): Problem {
  const nextCalls =
    refusal.nextActions === undefined ? [] : toNextCalls(refusal.nextActions, request.server.operations);
  return problemOf(refusal, { path: pathOf(request.raw.url ?? '/'), requestId: request.id, nextCalls });
}

/** Answers a request with a refusal. */
export function sendProblem(reply: FastifyReply, request: FastifyRequest, refusal: Refusal): FastifyReply {
  const problem = toProblem(refusal, request);
  const retryAfter = retryAfterOf(refusal);
  if (retryAfter !== null) reply.header('retry-after', String(retryAfter));
  // A client that sent a key may have sent the wrong one (RFC 6750); one that sent none is only told the scheme.
  if (problem.status === 401) {
    const fault = request.headers.authorization === undefined ? '' : ', error="invalid_token"';
    reply.header('www-authenticate', `Bearer realm="fuseboard"${fault}`);
  }
  return reply
    .code(problem.status)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(JSON.stringify(problem));
}
