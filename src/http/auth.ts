import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { type Actor, type Role, roleFor } from '../kernel/actor.js';
import type { Refusal } from '../kernel/refusal.js';
import type { AskingGate, Gate } from './gates.js';
import type { RouteRoles } from './types.js';

/** Finds the agent of a key; null when the key is unknown or revoked. Should answer known keys without a promise. */
export type Authenticate = (token: string) => Actor | null | Promise<Actor | null>;

/** What authentication is given. */
export interface AuthOptions {
  readonly authenticate: Authenticate;
  /** Counts the request of an identified agent. */
  readonly chargeAgent: Gate;
  /** Counts a request that could not be identified. */
  readonly chargeStranger: Gate;
  /** Refuses a path that no route takes. */
  readonly refuseUnknown: Gate;
}

const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

const HOW_TO_SEND =
  'Send the header Authorization: Bearer fb_… with the key of an agent. ' +
  'The first start of the server writes one for each role to .fuseboard/keys.env.';
const NO_KEY: Refusal = { code: 'unauthenticated', detail: `This call needs a key. ${HOW_TO_SEND}` };
const WRONG_KEY: Refusal = {
  code: 'unauthenticated',
  detail: `The key is unknown or has been revoked. ${HOW_TO_SEND}`,
};

/** The agent that sends this request. For handlers of routes that are not public. */
export function callerOf(request: FastifyRequest): Actor {
  if (request.actor === null) throw new Error(`${request.routeOptions.url} is public and has no caller`);
  return request.actor;
}

/**
 * Lets a request through to its route only if its agent may call it, before its body is read. A route that does not say
 * who may call it stops the boot.
 */
export function createAccess(app: FastifyInstance, options: AuthOptions): AskingGate {
  requireDeclaredRoles(app);
  app.decorateRequest('actor', null);

  const turnAway = (request: FastifyRequest, reply: FastifyReply, sent: boolean): Refusal =>
    options.chargeStranger(request, reply) ?? (sent ? WRONG_KEY : NO_KEY);

  const admit = (
    request: FastifyRequest,
    reply: FastifyReply,
    roles: readonly Role[] | 'any',
    actor: Actor | null,
  ): Refusal | null => {
    if (actor === null) return turnAway(request, reply, true);
    request.actor = actor;
    return options.chargeAgent(request, reply) ?? refuseRole(actor, roles);
  };

  return (request, reply) => {
    const roles = request.routeOptions.config.roles;
    if (roles === 'public') return null;
    // Every route declares its roles, so this is none.
    if (roles === undefined)
      return options.chargeStranger(request, reply) ?? options.refuseUnknown(request, reply);
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) return turnAway(request, reply, request.headers.authorization !== undefined);
    // A known key is answered at once; a promise would cost every request a turn of the loop.
    const found = options.authenticate(token);
    if (found instanceof Promise) return found.then((actor) => admit(request, reply, roles, actor));
    return admit(request, reply, roles, found);
  };
}

function refuseRole(actor: Actor, roles: readonly Role[] | 'any'): Refusal | null {
  if (roles === 'any' || roleFor(actor, roles) !== null) return null;
  const needed = roles.length === 1 ? `the role ${roles[0]}` : `one of the roles ${roles.join(', ')}`;
  return {
    code: 'forbidden_role',
    detail: `This call needs ${needed}. Your agent ${actor.name} has ${actor.roles.join(', ') || 'none'}.`,
    facts: { required_roles: [...roles], roles: [...actor.roles] },
  };
}

function requireDeclaredRoles(app: FastifyInstance): void {
  const routes: { readonly url: string; readonly options: RouteOptions }[] = [];
  app.addHook('onRoute', (options) => {
    routes.push({ url: options.url, options });
  });
  // Judged when all are there, and not in onRoute: a plugin that wraps foreign routes declares their roles after it.
  app.addHook('onReady', (done) => {
    const faults = routes.flatMap(({ url, options }) => faultOf(url, options.method, options.config?.roles));
    done(faults.length === 0 ? undefined : new Error(faults.join('\n')));
  });
}

function faultOf(url: string, method: string | string[], roles: RouteRoles | undefined): string[] {
  const name = `${String(method)} ${url}`;
  if (roles === undefined) return [`Route ${name} declares no config.roles`];
  if (roles === 'public' && /^\/v1(\/|$)/.test(url))
    return [`Route ${name} is under /v1 and cannot be public`];
  if (Array.isArray(roles) && roles.length === 0) return [`Route ${name} declares roles that nobody has`];
  return [];
}
