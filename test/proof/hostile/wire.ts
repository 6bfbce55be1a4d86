import { connect, type Socket } from 'node:net';

/** A request as bytes: nothing here stops what no client library would send. */
export interface RawRequest {
  readonly method: string;
  /** What stands in the request line, each character one byte. */
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | null;
  /** Hangs up so long after it was sent, answered or not: for what waits. */
  readonly hangUpAfterMs?: number;
  /** Ends its side of the connection after the last byte, as a client that dies inside its body. */
  readonly cutOff?: boolean;
}

/** What came back. */
export interface Reply {
  /** Null when the connection ended without an answer. */
  readonly status: number | null;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Answered in full, closed by the server, hung up by us, or not answered in time. */
  readonly ended: 'whole' | 'closed' | 'hung up' | 'late';
  readonly ms: number;
}

/** Every answer must be there after this time, also on a machine that has other work. */
export const DEADLINE_MS = 10_000;

const FRAMING = /^(content-length|transfer-encoding)$/i;

/** The bytes of a request. */
export function bytesOf({ method, target, headers, body }: RawRequest): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  if (body !== null && !headers.some(([name]) => FRAMING.test(name)))
    lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from([`${method} ${target} HTTP/1.1`, ...lines, '', ''].join('\r\n'), 'latin1');
  return body === null ? head : Buffer.concat([head, body]);
}

/** A request as one may send it again from a terminal. */
export function asCommand(request: RawRequest, url: string): string {
  const shown = (text: string): string =>
    `$'${text.replace(/[^\x20-\x7e]|['\\]/g, (character) => `\\x${(character.codePointAt(0) ?? 0).toString(16).padStart(2, '0')}`)}'`;
  const { method, target, headers, body } = request;
  const parts = [
    'curl -sS -i --path-as-is --globoff',
    `-X ${shown(method)}`,
    ...headers.filter(([name]) => name !== 'Host').map(([name, value]) => `-H ${shown(`${name}: ${value}`)}`),
    ...(body === null ? [] : ['--data-binary @-']),
    shown(`${url}${target}`),
  ];
  const sent = body === null ? '' : `printf %s ${shown(shortened(body.toString('latin1')))} | `;
  return `${sent}${parts.join(' ')}`;
}

function shortened(text: string): string {
  return text.length <= 4_000 ? text : `${text.slice(0, 4_000)}…(${text.length} bytes)`;
}

/** The body of an answer in chunks; null while its end is not there. */
function unchunked(bytes: Buffer): { readonly body: Buffer; readonly whole: boolean } {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = lineEnd === -1 ? Number.NaN : Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size) || bytes.length < lineEnd + 2 + size + 2)
      return { body: Buffer.concat(parts), whole: false };
    if (size === 0) return { body: Buffer.concat(parts), whole: true };
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}

interface Received {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly whole: boolean;
}

/** Reads an answer; null while its head is not there. */
function readAnswer(bytes: Buffer, method: string): Received | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(first.split(' ')[1]);
  const rest = bytes.subarray(headEnd + 4);
  if (status === 100) return readAnswer(rest, method);
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  if (method === 'HEAD' || status === 204 || status === 304)
    return { status, headers, body: Buffer.alloc(0), whole: true };
  if (headers.get('transfer-encoding') === 'chunked') return { status, headers, ...unchunked(rest) };
  const length = Number(headers.get('content-length') ?? Number.POSITIVE_INFINITY);
  return { status, headers, body: rest.subarray(0, length), whole: rest.length >= length };
}

/** One connection after another, for one request at a time. */
export class Lane {
  private socket: Socket | null = null;

  constructor(private readonly port: number) {}

  /** Sends a request and waits for its answer. A request that is not `plain` gets a connection of its own. */
  async send(request: RawRequest, plain: boolean): Promise<Reply> {
    if (!plain) this.close();
    const socket = this.socket ?? connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    this.socket = socket;
    const reply = await exchange(socket, request);
    const usable = plain && reply.ended === 'whole' && reply.headers.get('connection') !== 'close';
    if (!usable) this.close();
    return reply;
  }

  close(): void {
    this.socket?.destroy();
    this.socket = null;
  }
}

function exchange(socket: Socket, request: RawRequest): Promise<Reply> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    const end = (ended: Reply['ended']): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
      const answer = readAnswer(bytes, request.method);
      resolve({
        status: answer?.status ?? null,
        headers: answer?.headers ?? new Map(),
        body: answer?.body.toString('utf8') ?? '',
        ended: ended === 'closed' && answer?.whole === true ? 'whole' : ended,
        ms: performance.now() - startedAt,
      });
    };
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      if (readAnswer(bytes, request.method)?.whole === true) end('whole');
    };
    const onClose = (): void => end('closed');
    const { hangUpAfterMs } = request;
    const timer = setTimeout(
      () => end(hangUpAfterMs === undefined ? 'late' : 'hung up'),
      hangUpAfterMs ?? DEADLINE_MS,
    );
    if (socket.listenerCount('error') === 0) socket.on('error', () => undefined);
    socket.on('data', onData).on('close', onClose);
    socket.write(bytesOf(request));
    if (request.cutOff === true) socket.end();
  });
}
