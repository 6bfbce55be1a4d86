/** An agent that was seen. */
export interface Seen {
  readonly projectId: string;
  readonly agentId: string;
}

const NOTED_EVERY_MS = 60_000;
const AGENTS_MAX = 10_000;

/** Notes when agents were last seen: at most once a minute each, beside the requests and never in them. */
export class Presence {
  private readonly notedAt = new Map<string, number>();
  private waiting: Seen[] = [];
  private writing: Promise<void> | null = null;

  constructor(
    private readonly write: (seen: readonly Seen[]) => Promise<void>,
    private readonly nowMs: () => number,
  ) {}

  /** An agent has sent a request. */
  saw(seen: Seen): void {
    const now = this.nowMs();
    const last = this.notedAt.get(seen.agentId);
    if (last !== undefined && now - last < NOTED_EVERY_MS) return;
    if (this.notedAt.size >= AGENTS_MAX) this.notedAt.clear();
    this.notedAt.set(seen.agentId, now);
    this.waiting.push(seen);
    this.writing ??= this.writeAll();
  }

  /** Resolves when everything seen so far is written, or could not be. */
  async settled(): Promise<void> {
    await this.writing;
  }

  private async writeAll(): Promise<void> {
    await new Promise(setImmediate);
    while (this.waiting.length > 0) {
      const seen = this.waiting;
      this.waiting = [];
      try {
        await this.write(seen);
      } catch {
        // Seen again at the next request, when the database is there again.
        for (const { agentId } of seen) this.notedAt.delete(agentId);
      }
    }
    this.writing = null;
  }
}
