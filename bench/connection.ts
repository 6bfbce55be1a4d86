import { connect, type Socket } from 'node:net';

/** An answer as it came. */
export interface Reply {
  readonly status: number;
  readonly body: string;
}

const END_OF_HEAD = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: (\d+)/i;

/**
 * One keep-alive connection that sends a request at a time. It knows just enough HTTP/1.1 for answers with a length, so that
 * the client takes as little as possible of the processor that it shares with what it measures.
 */
export class Connection {
  private received = '';
  private waiting: { resolve: (reply: Reply) => void; reject: (error: Error) => void } | null = null;

  private constructor(
    private readonly socket: Socket,
    private readonly host: string,
  ) {
    socket.setNoDelay(true);
    // One character a byte, so that lengths count alike; the bodies here are ASCII.
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => this.take(chunk));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the server closed the connection')));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket, `127.0.0.1:${port}`));
      });
    });
  }

  post(path: string, key: string, body: string): Promise<Reply> {
    this.socket.write(
      `POST ${path} HTTP/1.1\r\nhost: ${this.host}\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      'latin1',
    );
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
    });
  }

  close(): void {
    this.waiting = null;
    this.socket.destroy();
  }

  private take(chunk: string): void {
    this.received += chunk;
    const headEnd = this.received.indexOf(END_OF_HEAD);
    if (headEnd === -1) return;
    const head = this.received.slice(0, headEnd);
    const status = Number(head.slice(9, 12));
    const length = LENGTH.exec(head)?.[1];
    if (length === undefined && status !== 204) {
      this.fail(new Error(`an answer without a length: ${head}`));
      return;
    }
    const bodyStart = headEnd + END_OF_HEAD.length;
    const end = bodyStart + Number(length ?? 0);
    if (this.received.length < end) return;
    const body = this.received.slice(bodyStart, end);
    this.received = this.received.slice(end);
    const { waiting } = this;
    this.waiting = null;
    waiting?.resolve({ status, body });
  }

  private fail(error: Error): void {
    this.waiting?.reject(error);
    this.waiting = null;
  }
}
