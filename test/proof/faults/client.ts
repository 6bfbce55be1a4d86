import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { EventType } from '../../../src/kernel/event.js';
import type { Ledger } from './ledger.js';

const ANSWER_MS = 20_000;
const PATIENCE_MS = 60_000;
/** Retry-After is a second or more; what is measured here is how soon the service could have answered. */
const RETRY_MS = 25;

const problem = z.object({ code: z.string(), detail: z.string(), retryable: z.boolean() });
/** The only reasons for which a server may say that it cannot serve now. */
const BUSY = new Set(['database_unavailable', 'overloaded', 'fleet_breaker_open']);

/** A command as it goes over the wire. */
export interface Command {
  readonly id: string;
  readonly key: string;
  readonly path: string;
  readonly body: object;
  /** The fact that the log holds when it was carried out. */
  readonly fact: EventType;
}

/** What came back. */
export interface Reply {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | null;
}

/** Sends a command once; null where the connection ended without an answer. */
export function sendOnce(url: string, { id, key, path, body }: Command): Promise<Reply | null> {
  return exchange(url, path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': id,
      'x-request-id': id,
    },
    body: JSON.stringify(body),
  });
}

async function exchange(url: string, path: string, request: RequestInit): Promise<Reply | null> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(`${url}/v1${path}`, { ...request, signal });
    return {
      status: response.status,
      text: await response.text(),
      retryAfter: response.headers.get('retry-after'),
    };
  } catch {
    return null;
  }
}

/** Throws where a server does not say in the documented way that it cannot serve now. */
export function expectBusy({ status, text, retryAfter }: Reply): void {
  const said = problem.safeParse(JSON.parse(text));
  const { code, retryable } = said.data ?? { code: '', retryable: false };
  if (status !== 503 || !BUSY.has(code) || !retryable || !/^[1-9]\d*$/.test(retryAfter ?? ''))
    throw new Error(`answered ${status} with Retry-After ${retryAfter}: ${text}`);
}

/** How a command ended: with an answer, without anything to do, or refused. */
export interface Ending {
  readonly status: number;
  readonly text: string;
  /** How often it had to be sent. */
  readonly sent: number;
}

/** Sends a command until its outcome is known, as an agent does that reads the documentation, and notes it in the ledger. */
export async function send(url: string, ledger: Ledger, command: Command): Promise<Ending> {
  const entry = ledger.add(command.id, command.fact);
  const ending = await persist(command.path, () => sendOnce(url, command));
  entry.fate = ending.status === 200 || ending.status === 201 ? 'done' : 'refused';
  return ending;
}

/** Reads once; null where the connection ended without an answer. */
export function readOnce(url: string, key: string, path: string): Promise<Reply | null> {
  return exchange(url, path, { headers: { authorization: `Bearer ${key}` } });
}

/** Reads until it is answered. */
export function read(url: string, key: string, path: string): Promise<Ending> {
  return persist(path, () => readOnce(url, key, path));
}

/** Asks again while nothing, or a 503, comes back. Any other failure of the server is one of the test. */
async function persist(path: string, ask: () => Promise<Reply | null>): Promise<Ending> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let sent = 1; performance.now() < deadline; sent += 1, await pause(RETRY_MS)) {
    const reply = await ask();
    if (reply !== null && reply.status < 500) return { status: reply.status, text: reply.text, sent };
    if (reply !== null) expectBusy(reply);
  }
  throw new Error(`${path} was not served for ${PATIENCE_MS / 1000} s`);
}
