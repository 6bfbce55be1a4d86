import { z } from 'zod';

const answer = z.record(z.string(), z.unknown());

/** An answer of the service, with what a life reads of it. */
export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends requests to a running service, each as one of its agents. */
export class Caller {
  constructor(
    private readonly url: string,
    private readonly keys: Readonly<Record<string, string>>,
  ) {}

  /** The same service, called with one key more. */
  with(name: string, key: string): Caller {
    return new Caller(this.url, { ...this.keys, [name]: key });
  }

  async send(
    agent: string,
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answered> {
    const reply = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.keys[agent]}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    return { status: reply.status, text, body: text === '' ? {} : answer.parse(JSON.parse(text)) };
  }

  /** Sends what must succeed. */
  async ask(...request: Parameters<Caller['send']>): Promise<Answered> {
    const answered = await this.send(...request);
    if (answered.status >= 400)
      throw new Error(`${request.slice(0, 3).join(' ')} was answered ${answered.text}`);
    return answered;
  }
}
