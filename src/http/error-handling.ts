import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { Refusal } from '../kernel/refusal.js';
import { startTrace } from './context.js';
import { refusalOf } from './errors.js';
import type { Gate } from './gates.js';
import { logAnswer, logFault } from './logging.js';
import { pathOf, sendProblem } from './problem.js';

/** Answers whatever is thrown as a problem. Gives back the gate for paths that no route takes. */
export function handleErrors(app: FastifyInstance): Gate {
  app.decorateReply('refuse', function refuse(this: FastifyReply, refusal: Refusal) {
    return sendProblem(this, this.request, refusal);
  });
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const { refusal, fault } = refusalOf(error, request);
    if (fault) logFault(request, error, refusal);
    return sendProblem(reply, request, refusal);
  });
  const refuseUnknown = createUnknownGate(app);
  app.setNotFoundHandler((request, reply) => reply.refuse(refuseUnknown(request, reply)));
  return refuseUnknown;
}

function createUnknownGate(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => Refusal {
  const methods = new Set<HTTPMethods>();
  app.addHook('onRoute', (route) => {
    for (const method of Array.isArray(route.method) ? route.method : [route.method]) methods.add(method);
  });
  return (request, reply) => {
    const path = pathOf(request.raw.url ?? '/');
    const taken = [...methods].filter((method) => app.findRoute({ method, url: path }) !== null).sort();
    // A route that takes this method has itself said that there is nothing, a file that does not exist for one.
    const allowed = taken.some((method) => method === request.method) ? [] : taken;
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    return unknownRoute(request.method, path, allowed);
  };
}

function unknownRoute(method: string, path: string, allowed: readonly string[]): Refusal {
  if (allowed.length > 0) {
    return {
      code: 'method_not_allowed',
      detail: `${path} does not take ${method}. It takes ${allowed.join(', ')}.`,
      facts: { allowed: [...allowed] },
    };
  }
  return {
    code: 'not_found',
    detail: `There is no ${method} ${path} here. The calls that exist are listed at /docs and in /openapi.json.`,
  };
}

/**
 * The `frameworkErrors` option: answers for requests that never reach a route, such as a URL that cannot be decoded.
 * No hook runs for them, so the request gets its ids here and is logged here.
 */
export function answerFrameworkError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  startTrace(request, reply);
  const { refusal, fault } = refusalOf(error, request);
  if (fault) logFault(request, error, refusal);
  sendProblem(reply, request, refusal);
  logAnswer(request, reply);
}
