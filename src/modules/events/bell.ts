/** What a waiter hears with. */
export interface Listener {
  /** Resolves at the next ring, at once if it rang since the last call; after `ms`, or when the bell closes, as well. */
  next(ms: number, signal: AbortSignal): Promise<void>;
  /** Stops listening. */
  leave(): void;
}

interface Ear {
  rang: boolean;
  wake: (() => void) | null;
}

/** How often the last positions are looked at: for commits of other processes whose ring was lost. */
const LOOK_EVERY_MS = 1_000;

/**
 * Rings when something was committed in a project. A commit of this process rings at once; whatever else was committed is
 * found by one look a second, for all listeners together, so that a listener costs no connection and no query of its own.
 */
export class Bell {
  private readonly ears = new Map<string, Set<Ear>>();
  private readonly positions = new Map<string, number>();
  private timer: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(
    private readonly lookUp: (projectIds: readonly string[]) => Promise<ReadonlyMap<string, number>>,
  ) {}

  get isClosed(): boolean {
    return this.closed;
  }

  /** Something was committed in this project. */
  ring(projectId: string): void {
    for (const ear of this.ears.get(projectId) ?? []) {
      ear.rang = true;
      ear.wake?.();
    }
  }

  /** Listens to a project. Begin before reading, or a ring between the read and the wait is lost. */
  listen(projectId: string): Listener {
    const ear: Ear = { rang: false, wake: null };
    const ears = this.ears.get(projectId) ?? new Set();
    this.ears.set(projectId, ears.add(ear));
    this.lookSoon();
    return {
      next: (ms, signal) => this.wait(ear, ms, signal),
      leave: () => {
        ears.delete(ear);
        if (ears.size > 0) return;
        this.ears.delete(projectId);
        this.positions.delete(projectId);
      },
    };
  }

  /** Lets everybody go; from now on nobody waits. */
  close(): void {
    this.closed = true;
    if (this.timer !== null) clearTimeout(this.timer);
    for (const projectId of this.ears.keys()) this.ring(projectId);
  }

  private async wait(ear: Ear, ms: number, signal: AbortSignal): Promise<void> {
    if (!ear.rang && !this.closed && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          // A stream waits with one signal as often as something happens.
          signal.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        ear.wake = wake;
        signal.addEventListener('abort', wake, { once: true });
      });
      ear.wake = null;
    }
    ear.rang = false;
  }

  private lookSoon(): void {
    if (this.timer !== null || this.closed || this.ears.size === 0) return;
    this.timer = setTimeout(() => {
      void this.look().finally(() => {
        this.timer = null;
        this.lookSoon();
      });
    }, LOOK_EVERY_MS);
    this.timer.unref();
  }

  private async look(): Promise<void> {
    const listened = [...this.ears.keys()];
    try {
      for (const [projectId, position] of await this.lookUp(listened)) {
        const before = this.positions.get(projectId);
        if (!this.ears.has(projectId)) continue;
        this.positions.set(projectId, position);
        if (before !== position) this.ring(projectId);
      }
    } catch {
      // The database is away: whoever reads next is told so.
    }
  }
}
