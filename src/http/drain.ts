import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const LOOK_EVERY_MS = 20;

/**
 * Lets the server end as soon as its last answer is out. Left alone it waits for two kinds of connections that nobody uses:
 * those on which no request was ever sent, which browsers and pools open in advance, and those that became idle while it was
 * closing already.
 */
export function drainConnections(app: FastifyInstance): void {
  const { server } = app;
  const unused = new Set<Socket>();
  server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }) => unused.delete(socket));
  app.addHook('preClose', (done) => {
    const timer = setInterval(() => {
      for (const socket of unused) socket.destroy();
      server.closeIdleConnections();
    }, LOOK_EVERY_MS);
    server.once('close', () => clearInterval(timer));
    timer.unref();
    done();
  });
}
