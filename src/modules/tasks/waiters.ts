/** One claim that waits for work. */
interface Waiter {
  readonly wake: () => void;
  /** The newest offer that this waiter has already looked at in vain. */
  looked: number;
}

/**
 * Who waits for work, by project, first come first served. An offer wakes as many as there is work for; one that looks in vain
 * (its labels or hands did not fit) passes the offer on to the next, so that a crowd is not woken for one task.
 */
export class Waiters {
  private readonly queues = new Map<string, Set<Waiter>>();
  private offers = 0;
  private closed = false;

  /** Wakes up to `count` waiters of a project for work that has appeared. */
  offer(projectId: string, count: number): void {
    this.offers++;
    this.wake(projectId, count);
  }

  /** Passes an offer on after looking in vain. */
  passOn(projectId: string): void {
    this.wake(projectId, 1);
  }

  private wake(projectId: string, count: number): void {
    let left = count;
    for (const waiter of this.queues.get(projectId) ?? []) {
      if (left === 0) return;
      if (waiter.looked === this.offers) continue;
      left--;
      waiter.wake();
    }
  }

  /** Resolves when there may be work, after `ms` at the latest, when the caller goes away, or when the service closes. */
  async wait(projectId: string, ms: number, signal: AbortSignal): Promise<void> {
    if (this.closed || signal.aborted) return;
    const queue = this.queues.get(projectId) ?? new Set();
    this.queues.set(projectId, queue);
    await new Promise<void>((resolve) => {
      const waiter: Waiter = { wake: end, looked: this.offers };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end, { once: true });
      queue.add(waiter);
      function end(): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        queue.delete(waiter);
        resolve();
      }
    });
    if (queue.size === 0) this.queues.delete(projectId);
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** Wakes everybody for good: from now on nobody waits. */
  close(): void {
    this.closed = true;
    for (const queue of this.queues.values()) for (const waiter of queue) waiter.wake();
  }
}
