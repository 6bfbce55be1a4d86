/** One message of PostgreSQL's protocol, with its head. */
interface Message {
  readonly type: string;
  readonly bytes: Buffer;
}

const HEAD_BYTES = 5;
const PARSE = 'P';
const BIND = 'B';
const QUERY = 'Q';
const SYNC = 'S';
const READY = 'Z';

/** Cuts a stream of bytes into messages. */
class Messages {
  private rest = Buffer.alloc(0);

  *take(chunk: Buffer): Generator<Message> {
    this.rest = Buffer.concat([this.rest, chunk]);
    while (this.rest.length >= HEAD_BYTES) {
      const end = 1 + this.rest.readUInt32BE(1);
      if (this.rest.length < end) return;
      const bytes = this.rest.subarray(0, end);
      this.rest = this.rest.subarray(end);
      yield { type: String.fromCharCode(bytes[0] ?? 0), bytes };
    }
  }
}

/** What a client sends up to the point where it expects an answer. */
export interface Statement {
  /** The name it was prepared under; its text when it has none. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** Cuts what a client says into statements. Its first packet has no type and stands alone; that and its password go by themselves. */
export class Statements {
  private readonly messages = new Messages();
  private greeted = false;
  private parts: Buffer[] = [];
  private name = '';

  /** Answers statements, and bytes that are none. */
  *take(chunk: Buffer): Generator<Statement | Buffer> {
    if (!this.greeted) {
      this.greeted = true;
      yield chunk;
      return;
    }
    for (const message of this.messages.take(chunk)) {
      const done = this.add(message);
      if (done !== null) yield done;
    }
  }

  private add({ type, bytes }: Message): Statement | Buffer | null {
    if (type === QUERY) return { name: textAt(bytes, HEAD_BYTES), bytes };
    if (type === PARSE) this.name = textAt(bytes, HEAD_BYTES) || secondText(bytes);
    else if (type === BIND && this.name === '') this.name = secondText(bytes);
    else if (type !== SYNC && this.parts.length === 0) return bytes;
    this.parts.push(bytes);
    if (type !== SYNC) return null;
    const statement = { name: this.name, bytes: Buffer.concat(this.parts) };
    this.parts = [];
    this.name = '';
    return statement;
  }
}

/** Cuts what a server says into answers, each up to the point where it is ready for the next statement. */
export class Answers {
  private readonly messages = new Messages();
  private parts: Buffer[] = [];
  private started = false;

  /** Answers whole answers as `answer`, and whatever is none as it comes. */
  *take(chunk: Buffer): Generator<{ readonly bytes: Buffer; readonly isAnswer: boolean }> {
    for (const { type, bytes } of this.messages.take(chunk)) {
      if (!this.started) {
        this.started = type === READY;
        yield { bytes, isAnswer: false };
        continue;
      }
      this.parts.push(bytes);
      if (type !== READY) continue;
      yield { bytes: Buffer.concat(this.parts), isAnswer: true };
      this.parts = [];
    }
  }
}

function textAt(bytes: Buffer, start: number): string {
  return bytes.toString('utf8', start, bytes.indexOf(0, start));
}

function secondText(bytes: Buffer): string {
  return textAt(bytes, bytes.indexOf(0, HEAD_BYTES) + 1);
}
