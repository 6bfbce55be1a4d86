import { Agent, type IncomingMessage, request } from 'node:http';
import type { HttpAnswer, HttpRequest } from './wire.js';

/** Connections to one process, kept open between requests. */
export class Connection {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1_000 });

  constructor(private readonly url: string) {}

  /** Sends a request. Null when no answer came: the connection was lost, or the client hung up after `patienceMs`. */
  send(wanted: HttpRequest, patienceMs: number | null = null): Promise<HttpAnswer | null> {
    const { method, path, headers, body } = wanted;
    const text = body === undefined ? null : JSON.stringify(body);
    const content =
      text === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.url}${path}`, {
        method,
        agent: this.agent,
        headers: { ...headers, ...content },
      });
      const timer = patienceMs === null ? null : setTimeout(() => sent.destroy(), patienceMs);
      sent.on('response', (answer) => {
        if (timer !== null) clearTimeout(timer);
        read(answer).then(resolve, reject);
      });
      sent.on('error', () => resolve(null));
      sent.end(text ?? undefined);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

async function read(answer: IncomingMessage): Promise<HttpAnswer> {
  let text = '';
  answer.setEncoding('utf8');
  for await (const chunk of answer) text += chunk;
  const body: unknown = JSON.parse(text);
  if (typeof body !== 'object' || body === null) throw new Error(`answered ${text}`);
  return {
    status: answer.statusCode ?? 0,
    replayed: answer.headers['idempotency-replayed'] === 'true',
    body: { ...body },
  };
}
