import { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Refusal } from '../kernel/refusal.js';

const FLUSH_EVERY_MS = 1000;
/** A write of the log goes through a thread, and waking one costs as much as ten lines: so it is seldom done. */
const GATHERED_LENGTH = 16_384;

/** A log that writes behind the requests, and what empties it. */
export interface Log {
  readonly logger: Logger;
  /** Writes what is buffered and stops the timer. */
  readonly close: () => void;
}

/**
 * The server's log: JSON lines, collected and written together, at the latest after a second. pino itself writes the rest
 * when the process ends.
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: isoTime(),
    formatters: { level: (label: string) => ({ level: label }) },
    // Nothing here logs headers; this is for a line that some day does.
    redact: ['authorization', 'headers.authorization', 'req.headers.authorization'],
    serializers: { err: describeError, req: describeRequest, res: describeReply },
  };
  if (destination !== undefined) return { logger: pino(options, destination), close: () => undefined };
  const gathered = new Gathered(pino.destination({ sync: false }));
  const timer = setInterval(() => gathered.pass(), FLUSH_EVERY_MS);
  timer.unref();
  process.on('exit', () => gathered.flushSync());
  const close = (): void => {
    clearInterval(timer);
    gathered.flushSync();
  };
  return { logger: pino(options, gathered), close };
}

/**
 * Joins lines and hands them on in large pieces. The stream behind it can do so itself, but measures all that it holds anew with
 * each line it is given: kilobytes copied for a line.
 */
class Gathered implements DestinationStream {
  private lines = '';

  constructor(private readonly file: ReturnType<typeof pino.destination>) {}

  write(line: string): void {
    this.lines += line;
    if (this.lines.length >= GATHERED_LENGTH) this.pass();
  }

  pass(): void {
    const { lines } = this;
    this.lines = '';
    if (lines !== '') this.file.write(lines);
  }

  flushSync(): void {
    this.pass();
    this.file.flushSync();
  }
}

/** RFC 3339 in UTC, written anew only when the millisecond has changed. */
function isoTime(): () => string {
  let last = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== last) {
      last = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

/** Only what helps to find a fault: an error of the database may carry the values of a row. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const code: unknown = Reflect.get(error, 'code');
  const message = messageOf(error.message, code);
  const stack = error.stack?.replace(error.message, () => message);
  const cause = error.cause === undefined ? undefined : describeError(error.cause);
  return { type: error.name, message, code, stack, cause };
}

/** The class of SQLSTATE that is about values, which it repeats between quotes: `invalid input syntax for type uuid: "…"`. */
const ABOUT_A_VALUE = /^22[0-9A-Z]{3}$/;

function messageOf(message: string, code: unknown): string {
  return typeof code === 'string' && ABOUT_A_VALUE.test(code) ? message.replace(/".*"/s, '"…"') : message;
}

function describeRequest(request: FastifyRequest): object {
  return { request_id: request.id, method: request.method, route: request.routeOptions.url };
}

function describeReply(reply: { statusCode: number }): object {
  return { status: reply.statusCode };
}

/** Fastify's own lines for each request are off; what it says about broken answers stays. */
export class FaultsOnly extends LogController {
  override incomingRequest(): void {}
  override requestCompleted(): void {}
  override defaultErrorLog(): void {}
  override routeNotFound(): void {}
}

/** Requests whose fault has had its line, which is the only one they get. */
const faulted = new WeakSet<FastifyRequest>();

/** Logs an unexpected error with what is needed to find the request again. */
export function logFault(request: FastifyRequest, error: unknown, refusal: Refusal): void {
  faulted.add(request);
  request.log.error(
    {
      method: request.method,
      route: request.routeOptions.url ?? null,
      request_id: request.id,
      agent_id: request.actor?.agentId ?? null,
      code: refusal.code,
      err: error,
    },
    'request failed',
  );
}

/** The line of an answered request: writes and refusals at `info`, successful reads at `debug`. */
export function logAnswer(request: FastifyRequest, reply: FastifyReply): void {
  const status = reply.statusCode;
  if (status >= 500 && faulted.has(request)) return;
  const { method, log } = request;
  const level = status < 400 && (method === 'GET' || method === 'HEAD') ? 'debug' : 'info';
  if (level === 'debug' && log.level !== 'debug' && log.level !== 'trace') return;
  // One literal: put together by spreading, it took five times as long as writing the line.
  const line = {
    method,
    route: request.routeOptions.url ?? null,
    request_id: request.id,
    agent_id: request.actor?.agentId ?? null,
    status,
    ms: Math.round(reply.elapsedTime * 100) / 100,
  };
  log[level](line, 'request');
}

/** One line for each answered request. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    logAnswer(request, reply);
    done();
  });
}
