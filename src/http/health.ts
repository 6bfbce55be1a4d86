import type { FastifyInstance } from 'fastify';

/** Whether the server can do its work, and if not why. */
export interface Readiness {
  readonly ok: boolean;
  readonly reasons: readonly string[];
}

/** Asks for the readiness of everything below HTTP. */
export type Ready = () => Readiness | Promise<Readiness>;

/** `/livez` says that the process turns, `/readyz` that it can work. */
export function serveHealth(app: FastifyInstance, ready: Ready): void {
  const config = { roles: 'public' } as const;
  app.get('/livez', { config, schema: { hide: true } }, (_request, reply) => {
    reply.header('cache-control', 'no-store').send({ status: 'ok' });
  });
  app.get('/readyz', { config, schema: { hide: true } }, async (_request, reply) => {
    const { ok, reasons } = await ready();
    reply.header('cache-control', 'no-store');
    if (ok) return { status: 'ok' };
    const detail = `Not ready: ${reasons.join('; ') || 'no reason given'}.`;
    return reply.refuse({ code: 'overloaded', detail, facts: { reasons: [...reasons] } });
  });
}
