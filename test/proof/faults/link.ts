import { connect, type Socket } from 'node:net';
import { Answers, type Statement, Statements } from './wire.js';

/** Where and how a connection breaks. */
export interface Fault {
  /** At the statement of that name and number. */
  readonly at: string;
  /** Before it is sent on, straight after, or when the database has answered it and the answer is not yet told. */
  readonly moment: 'before' | 'sent' | 'answered';
  /** The connection ends, or nothing more goes through until it is let go. */
  readonly how: 'cut' | 'stall';
}

/** A connection that has broken. */
export interface Struck {
  /** Lets what was held up go on, late as it may be: also when the client has given up in the meantime. */
  letGo(): void;
  /** Resolves when the connection has ended, at the database as well. */
  readonly over: Promise<void>;
}

/** Who says where a connection breaks, and is told when it has. */
export interface Judge {
  readonly overtake: ((name: string) => Promise<void>) | null;
  meet(name: string): Fault | null;
  strike(struck: Struck): void;
}

/** One connection of a client to the database. */
export class Link {
  private readonly server: Socket;
  private readonly statements = new Statements();
  private readonly answers = new Answers();
  /** What the client has said and the database has not been told. */
  private outbox: (Statement | Buffer)[] = [];
  /** The faults, or none, of the statements that the database has not answered yet. */
  private unanswered: (Fault | null)[] = [];
  /** What the database has said and the client has not been told. */
  private inbox: Buffer[] = [];
  private pumping = false;
  private outHeld = false;
  private inHeld = false;
  private frozen = false;
  /** Ends as soon as everything sent on has been answered. */
  private ending = false;
  private clientGone = false;
  private end: () => void = () => undefined;
  /** Resolves when both ends of the connection are gone. */
  readonly over = new Promise<void>((resolve) => {
    this.end = resolve;
  });

  constructor(
    private readonly client: Socket,
    database: { readonly host: string; readonly port: number },
    private readonly judge: Judge,
  ) {
    this.server = connect(database);
    for (const socket of [client, this.server]) socket.setNoDelay(true).on('error', () => undefined);
    client.on('data', (chunk) => {
      this.outbox.push(...this.statements.take(chunk));
      void this.pump();
    });
    client.on('close', () => {
      this.clientGone = true;
      this.endQuietly();
    });
    this.server.on('data', (chunk) => this.hear(chunk));
    this.server.on('close', () => {
      if (!this.frozen) client.destroy();
      this.end();
    });
  }

  /** Nothing goes through any more, and nobody is told. */
  freeze(): void {
    this.frozen = true;
    this.outHeld = true;
    this.inHeld = true;
  }

  cut(): void {
    this.client.destroy();
    this.server.destroy();
  }

  private async pump(): Promise<void> {
    if (this.pumping) return;
    this.pumping = true;
    while (!this.outHeld) {
      const next = this.outbox.shift();
      if (next === undefined) break;
      if (Buffer.isBuffer(next)) this.server.write(next);
      else {
        await this.judge.overtake?.(next.name);
        this.pass(next);
      }
    }
    this.pumping = false;
    this.endQuietly();
  }

  private pass(statement: Statement): void {
    const fault = this.judge.meet(statement.name);
    if (fault?.moment === 'before') {
      this.outHeld = true;
      this.outbox.unshift(statement);
      if (fault.how === 'stall') this.strike();
      else this.ending = true;
      this.endQuietly();
      return;
    }
    // What would come behind it is lost on the way.
    if (fault?.moment === 'answered') this.outHeld = true;
    this.unanswered.push(fault);
    // Once it is sent, whether the database comes to its end before the connection does is a race.
    this.server.write(statement.bytes, fault?.moment === 'sent' ? () => this.break() : undefined);
  }

  private hear(chunk: Buffer): void {
    for (const { bytes, isAnswer } of this.answers.take(chunk)) {
      const fault = isAnswer ? this.unanswered.shift() : null;
      if (fault?.moment === 'answered') {
        if (fault.how === 'cut') {
          this.break();
          return;
        }
        this.inHeld = true;
        this.strike();
      }
      if (this.inHeld) this.inbox.push(bytes);
      else this.client.write(bytes);
    }
    this.endQuietly();
  }

  private break(): void {
    this.cut();
    this.strike();
  }

  private strike(): void {
    this.judge.strike({ letGo: () => this.letGo(), over: this.over });
  }

  private letGo(): void {
    this.outHeld = false;
    this.inHeld = false;
    for (const bytes of this.inbox) this.client.write(bytes);
    this.inbox = [];
    void this.pump();
  }

  /** Ends when nothing is under way: at a fault that waits for that, or behind a client that has gone. */
  private endQuietly(): void {
    if (this.unanswered.length > 0) return;
    if (this.ending) {
      this.ending = false;
      this.break();
    } else if (this.clientGone && !this.outHeld && !this.inHeld) this.server.destroy();
  }
}
