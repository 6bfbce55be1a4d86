import type { FastifyInstance } from 'fastify';
import { type Authenticate, createAccess } from './auth.js';
import { ignoreExpectations } from './client-error.js';
import { createArrival } from './context.js';
import { handleErrors } from './error-handling.js';
import { hangGate } from './gates.js';
import { type Ready, serveHealth } from './health.js';
import { createKeyReader } from './idempotency.js';
import { guardInput } from './input-guard.js';
import { readJsonBodies, supplyBody } from './json-body.js';
import { logRequests } from './logging.js';
import { describeRoutes } from './openapi.js';
import { collectOperations } from './operations.js';
import { serveProblemPages } from './problem-pages.js';
import { limitRates, type RateLimits } from './rate-limit.js';
import { validateWithZod } from './validation.js';

export { callerOf } from './auth.js';
export { createLog, type Log } from './logging.js';
export { preferredType } from './negotiate.js';
export { etagOf, requiredVersionIn, versionIn } from './preconditions.js';
export {
  goneSignal,
  listOf,
  pageIn,
  sendAnswer,
  sendJson,
  sendMarkdown,
  sendVersioned,
} from './respond.js';
export { serverOptions } from './server-options.js';

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
 * comes after them. A request passes the gates in the order in which they stand here.
 */
export async function registerHttp(app: FastifyInstance, deps: HttpDeps): Promise<void> {
  collectOperations(app);
  validateWithZod(app);
  readJsonBodies(app);
  ignoreExpectations(app.server);
  const refuseUnknown = handleErrors(app);

  const arrive = createArrival(app);
  const charges = limitRates(app, deps.limits, deps.nowMs ?? (() => performance.now()));
  const enter = createAccess(app, { authenticate: deps.authenticate, refuseUnknown, ...charges });
  hangGate(app, 'onRequest', (request, reply) => arrive(request, reply) ?? enter(request, reply));

  const readKey = createKeyReader(app);
  hangGate(
    app,
    'preValidation',
    (request, reply) => supplyBody(request, reply) ?? guardInput(request, reply) ?? readKey(request, reply),
  );

  logRequests(app);
  await describeRoutes(app, deps.version);
  serveHealth(app, deps.ready);
  serveProblemPages(app);
}
