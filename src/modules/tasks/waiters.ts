/**
 * Who waits for work, by project, first come first served. An offer wakes as many as there is work for; one that looks in vain
 * (its labels or hands did not fit) passes the offer on to the next, so that a crowd is not woken for one task.
 */
export class Waiters {
  private readonly queues = new Map<string, Set<Place>>();
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
    for (const place of this.queues.get(projectId) ?? []) {
      if (left === 0) return;
      if (place.standsSince === this.offers) continue;
      left--;
      place.wake();
    }
  }

  /** A place in line. Taken before looking for work, so that what is offered while looking is not missed. */
  stand(projectId: string): Place {
    const queue = this.queues.get(projectId) ?? new Set();
    this.queues.set(projectId, queue);
    const place = new Place(this.offers, () => {
      queue.delete(place);
      if (queue.size === 0 && this.queues.get(projectId) === queue) this.queues.delete(projectId);
    });
    if (this.closed) place.wake();
    else queue.add(place);
    return place;
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** Wakes everybody for good: from now on nobody waits. */
  close(): void {
    this.closed = true;
    for (const queue of this.queues.values()) for (const place of queue) place.wake();
  }
}

/** One place in line, until it is woken or left. */
export class Place {
  private readonly woken: Promise<void>;
  private resolve: () => void = () => undefined;

  constructor(
    /** The newest offer when it was taken: whoever looks after that has looked at it. */
    readonly standsSince: number,
    private readonly onLeave: () => void,
  ) {
    this.woken = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  wake(): void {
    this.leave();
    this.resolve();
  }

  leave(): void {
    this.onLeave();
  }

  /** Resolves when there may be work, after `ms` at the latest, or when the caller goes away; the place is given up. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const wake = () => this.wake();
    const timer = setTimeout(wake, ms);
    signal.addEventListener('abort', wake, { once: true });
    if (signal.aborted) wake();
    await this.woken;
    clearTimeout(timer);
    signal.removeEventListener('abort', wake);
  }
}
