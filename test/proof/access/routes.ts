import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import type { RouteRoles } from '../../../src/http/types.js';
import type { TestApp } from '../../support/app.js';

/** A route as it is declared: `POST /v1/tasks`, and who may call it. */
export interface DeclaredRoute {
  readonly name: string;
  readonly roles: RouteRoles | undefined;
}

const STARTED = 'fastify.initialization';

/** Starts a service and tells every route that it registers, those that no description shows included. */
export async function withRoutes(
  start: () => Promise<TestApp>,
): Promise<{ readonly app: TestApp; readonly routes: readonly DeclaredRoute[] }> {
  const options: RouteOptions[] = [];
  const listen = (message: unknown): void => {
    if (!isStarting(message)) throw new Error('Fastify tells of its start in another form');
    message.fastify.addHook('onRoute', (route) => void options.push(route));
  };
  subscribe(STARTED, listen);
  try {
    const app = await start();
    // Only now: a plugin that wraps foreign routes declares their roles after they were registered.
    return { app, routes: options.flatMap(namesOf) };
  } finally {
    unsubscribe(STARTED, listen);
  }
}

function isStarting(message: unknown): message is { readonly fastify: FastifyInstance } {
  return typeof message === 'object' && message !== null && 'fastify' in message;
}

function namesOf({ method, url, config }: RouteOptions): DeclaredRoute[] {
  const methods = Array.isArray(method) ? method : [method];
  // HEAD is what GET is, without the body; Fastify adds it to each.
  const told = methods.filter((one) => one !== 'HEAD');
  return told.map((one) => ({ name: `${one} ${url}`, roles: config?.roles }));
}
