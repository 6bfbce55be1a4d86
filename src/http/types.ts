import type { Actor, Role } from '../kernel/actor.js';
import type { Refusal } from '../kernel/refusal.js';
import type { Idempotency, RequestContext } from '../kernel/request.js';
import type { ApiDocument } from './openapi-document.js';
import type { DocumentedHeader } from './openapi-parts.js';
import type { Operations } from './operations.js';

/** Who may call a route: these roles, any agent with a key, or everybody. */
export type RouteRoles = readonly Role[] | 'any' | 'public';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required on every route: one that declares none stops the boot. */
    roles?: RouteRoles;
    /** The domain command that a writing route sends. */
    command?: string;
    /** A writing route that changes no task and so sends no command: agents, keys, projects. */
    administrative?: true;
    /** Headers that the API description lists beside those every route has. */
    headers?: readonly DocumentedHeader[];
  }

  interface FastifyRequest {
    trace: RequestContext;
    /** The `traceparent` given back. */
    traceparent: string;
    /** The agent whose key was sent; null on a public route. */
    actor: Actor | null;
    /** The retry key of a POST or PATCH; null when none was sent. */
    idempotency: Idempotency | null;
    /** Counts `n` tasks against the caller's budget of created tasks. */
    chargeCreates(n: number): Refusal | null;
  }

  interface FastifyReply {
    /** Answers with the problem that a refusal stands for. */
    refuse(refusal: Refusal): FastifyReply;
  }

  interface FastifyInstance {
    /** Every route that has an `operationId`, for next actions and the API description. */
    operations: Operations;
    /** The OpenAPI document of all routes; complete once the app is ready. */
    apiDescription(): ApiDocument;
  }
}
