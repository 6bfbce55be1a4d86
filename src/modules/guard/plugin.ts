import type { FastifyInstance, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';

/** Methods that change something. */
const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Makes passing the guard by impossible: every route that writes names the command it sends through the pipeline, where the
 * guard decides over the very rows the write proves unchanged; or it is declared administrative and touches no task. A route
 * that does neither stops the boot. Register before any room.
 */
export const guardPlugin = fp(
  async (app: FastifyInstance, options: { readonly commands: ReadonlySet<string> }) => {
    app.addHook('onRoute', (route) => requireCommand(route, options.commands));
  },
  { name: 'guard', fastify: '5.x' },
);

function requireCommand(route: RouteOptions, commands: ReadonlySet<string>): void {
  const methods = Array.isArray(route.method) ? route.method : [route.method];
  if (!methods.some((method) => WRITES.has(method))) return;
  const { administrative, command } = route.config ?? {};
  if (administrative === true && command === undefined) return;
  if (administrative !== true && command !== undefined && commands.has(command)) return;
  throw new Error(
    `${methods.join(',')} ${route.url} writes and declares no command of the machine. Give its config a command, or administrative: true if it changes no task.`,
  );
}
