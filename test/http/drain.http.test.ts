import { once } from 'node:events';
import { Agent, get } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { drainConnections } from '../../src/http/drain.js';
import { type HttpApp, httpApp, openSocket } from '../support/http-app.js';

let http: HttpApp;
let answer: () => void = () => undefined;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
});

async function listening(): Promise<string> {
  http = await httpApp((app) => {
    drainConnections(app);
    app.get('/slow', { config: { roles: 'public' } }, (_request, reply) => {
      answer = () => void reply.send('done');
    });
  });
  return http.app.listen({ port: 0 });
}

it('a connection without a request does not keep the server', async () => {
  await listening();
  const arrived = once(http.app.server, 'connection');
  sockets.push(await openSocket(http.app));
  await arrived;
  await http.app.close();
});

it('a request in progress is answered, and its connection does not keep the server', async () => {
  const url = await listening();
  const agent = new Agent({ keepAlive: true });
  const arrived = once(http.app.server, 'request');
  const request = get(`${url}/slow`, { agent });
  const [answered] = [once(request, 'response')];
  await arrived;
  const closed = http.app.close();
  answer();
  const [response] = await answered;
  expect(response.statusCode).toBe(200);
  response.resume();
  await closed;
  agent.destroy();
});
