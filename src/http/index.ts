import type { FastifyInstance } from 'fastify';
import { type Authenticate, authenticateRequests } from './auth.js';
import { ignoreExpectations } from './client-error.js';
import { traceRequests } from './context.js';
import { handleErrors } from './error-handling.js';
import { type Ready, serveHealth } from './health.js';
import { readIdempotencyKeys } from './idempotency.js';
import { guardInput } from './input-guard.js';
import { readJsonBodies } from './json-body.js';
import { logRequests } from './logging.js';
import { describeRoutes } from './openapi.js';
import { collectOperations } from './operations.js';
import { serveProblemPages } from './problem-pages.js';
import { limitRates, type RateLimits } from './rate-limit.js';
import { validateWithZod } from './validation.js';

export { callerOf } from './auth.js';
export { createLog, type Log } from './logging.js';
export { etagOf, parseIfMatch } from './preconditions.js';
export { listOf, sendJson, sendVersioned } from './respond.js';
export { type ServerConfig, serverOptions } from './server-options.js';

/** What HTTP needs from below. */
export interface HttpDeps {
  readonly authenticate: Authenticate;
  readonly ready: Ready;
  readonly limits: RateLimits;
  /** The version that the API description states. */
  readonly version: string;
  /** A clock that only moves forward, for rate limits. */
  readonly nowMs?: () => number;
}

/**
 * Everything that cuts across routes. Await it before the first route is registered: hooks on routes see only what
 * comes after them. The order of the hooks is the order of this list.
 */
export async function registerHttp(app: FastifyInstance, deps: HttpDeps): Promise<void> {
  collectOperations(app);
  validateWithZod(app);
  ignoreExpectations(app.server);
  traceRequests(app);
  const charges = limitRates(app, deps.limits, deps.nowMs ?? (() => performance.now()));
  authenticateRequests(app, { authenticate: deps.authenticate, ...charges });
  handleErrors(app);
  readJsonBodies(app);
  guardInput(app);
  readIdempotencyKeys(app);
  logRequests(app);
  await describeRoutes(app, deps.version);
  serveHealth(app, deps.ready);
  serveProblemPages(app);
}
