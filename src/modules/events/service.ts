import type { Pool } from '../../db/statement.js';
import { encodeCursor, type Page } from '../../kernel/page.js';
import { Bell } from './bell.js';
import { lastPositions, readEvents } from './store.js';
import type { CommittedEvent, EventFilter } from './types.js';

/** What the events room needs. */
export interface EventsDeps {
  readonly pool: Pool;
}

/** Where a reader stands, and how much it takes at once. */
export interface EventPage {
  readonly after: number;
  readonly limit: number;
}

/** How long a waiting read trusts that its caller is still welcome while it has nothing to give. */
const ASK_EVERY_MS = 4_000;

/** How many events a stream reads at once, which is also the most it holds for a slow client. */
const STREAM_READ = 100;

/** The events room: the log, read in pages or followed. */
export class Events {
  private readonly bell: Bell;

  constructor(private readonly deps: EventsDeps) {
    this.bell = new Bell((projectIds) => lastPositions(deps.pool, projectIds));
  }

  /** Something was committed in this project, here or in another process. */
  onCommit(projectId: string): void {
    this.bell.ring(projectId);
  }

  /** Ends every stream and answers every waiting read. */
  close(): void {
    this.bell.close();
  }

  /** Events after a position, in order. */
  async list(projectId: string, filter: EventFilter, page: EventPage): Promise<Page<CommittedEvent>> {
    const rows = await readEvents(this.deps.pool, projectId, filter, page);
    const data = rows.slice(0, page.limit);
    const last = data.at(-1);
    const more = rows.length > page.limit && last !== undefined;
    return { data, nextCursor: more ? encodeCursor(String(last.position)) : null };
  }

  /**
   * The same, but where there is nothing yet waits for it, without holding anything, until `waitMs` have passed. Nothing is
   * given to who is no longer welcome when the wait ends.
   */
  async wait(
    projectId: string,
    filter: EventFilter,
    page: EventPage,
    waitMs: number,
    signal: AbortSignal,
    isWelcome: () => Promise<boolean>,
  ): Promise<Page<CommittedEvent>> {
    const listener = this.bell.listen(projectId);
    let now = performance.now();
    const until = now + waitMs;
    let askAt = now + ASK_EVERY_MS;
    try {
      for (let waited = false; ; waited = true) {
        const found = await this.list(projectId, filter, page);
        now = performance.now();
        const ends = found.data.length > 0 || now >= until || this.bell.isClosed || signal.aborted;
        if (waited && (ends || now >= askAt)) {
          if (!(await isWelcome())) return { data: [], nextCursor: null };
          askAt = now + ASK_EVERY_MS;
        }
        if (ends) return found;
        await listener.next(Math.min(until, askAt) - now, signal);
      }
    } finally {
      listener.leave();
    }
  }

  /**
   * Follows the log from a position on. Gives batches as fast as they are taken, and an empty one after each `pulseMs` of
   * silence. Ends when the room closes or `signal` aborts.
   */
  async *follow(
    projectId: string,
    filter: EventFilter,
    from: number,
    pulseMs: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly CommittedEvent[], void, undefined> {
    const listener = this.bell.listen(projectId);
    let after = from;
    let pulseAt = performance.now() + pulseMs;
    try {
      while (!this.bell.isClosed && !signal.aborted) {
        const { data, nextCursor } = await this.list(projectId, filter, { after, limit: STREAM_READ });
        after = data.at(-1)?.position ?? after;
        if (data.length > 0 || performance.now() >= pulseAt) {
          yield data;
          pulseAt = performance.now() + pulseMs;
        }
        if (nextCursor === null) await listener.next(Math.max(0, pulseAt - performance.now()), signal);
      }
    } finally {
      listener.leave();
    }
  }
}
