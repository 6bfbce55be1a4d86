import type { FastifyInstance, HTTPMethods } from 'fastify';
import { ID_PREFIXES, toWire } from '../kernel/ids.js';
import type { NextAction } from '../kernel/refusal.js';

/** A route as a caller sees it. */
export interface Operation {
  readonly method: string;
  /** The pattern, `/v1/tasks/:id`. */
  readonly path: string;
}

/** Routes by `operationId`. */
export type Operations = ReadonlyMap<string, Operation>;

/** A next action on the wire. */
export interface NextCall {
  readonly method: string;
  readonly path: string;
  readonly role?: string;
}

const PARAMETER = /:([A-Za-z_]\w*)/g;

/** Collects the routes that name an `operationId` and decorates the app with them. */
export function collectOperations(app: FastifyInstance): void {
  const operations = new Map<string, Operation>();
  app.decorate('operations', operations);
  app.addHook('onRoute', (route) => {
    const id = route.schema?.operationId;
    const method = firstOf(route.method);
    if (id === undefined || method === 'HEAD') return;
    if (operations.has(id)) throw new Error(`Two routes have the operationId ${id}`);
    operations.set(id, { method, path: route.url });
  });
}

function firstOf(method: HTTPMethods | HTTPMethods[]): string {
  return Array.isArray(method) ? (method[0] ?? 'GET') : method;
}

/**
 * The calls behind next actions. One whose operation no route serves is left out: a caller must never be sent to a
 * path that answers 404.
 */
export function toNextCalls(actions: readonly NextAction[], operations: Operations): NextCall[] {
  const calls: NextCall[] = [];
  for (const action of actions) {
    const operation = operations.get(action.call);
    if (operation === undefined) continue;
    const path = pathOf(operation.path, action);
    calls.push({
      method: operation.method,
      path,
      ...(action.role === undefined ? {} : { role: action.role }),
    });
  }
  return calls;
}

function pathOf(pattern: string, action: NextAction): string {
  const { on } = action;
  if (on === undefined) return pattern.replace(PARAMETER, '{$1}');
  // An id that already has its prefix is one the caller sent.
  const wire = on.id.startsWith(`${ID_PREFIXES[on.kind]}_`) ? on.id : toWire(on.kind, on.id);
  return pattern.replace(':id', encodeURIComponent(wire)).replace(PARAMETER, '{$1}');
}
