import { serverActor } from '../../kernel/actor.js';
import type { Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { RequestContext } from '../../kernel/request.js';
import type { Committed, Envelope } from './envelope.js';
import type { Command } from './types.js';

/** One task that the server must look at: its lease ran out (with that token), or its time has come. */
export interface Due {
  readonly projectId: string;
  readonly taskId: string;
  readonly leaseToken: number | null;
}

export interface RescuerDeps {
  readonly loadDue: (offsetMs: number, limit: number) => Promise<{ due: Due[]; nextInMs: number | null }>;
  readonly send: (envelope: Envelope) => Promise<unknown>;
  readonly clock: Clock;
  readonly newTrace: () => RequestContext;
  readonly log: Log;
}

const BATCH = 500;
/** Beside the timer at the earliest known due time: a sweep for what other processes left behind. */
const SWEEP_MS = 2_000;

/**
 * Looks at tasks whose time has come: expires leases, offers what waited for a time. It decides nothing: it sends the same
 * commands through the same pipeline as everybody, and a lease renewed in the meantime is left alone there.
 */
export class Rescuer {
  private timer: NodeJS.Timeout | null = null;
  private wakeAt = Number.POSITIVE_INFINITY;
  private sweeping: Promise<void> | null = null;
  private stopped = true;

  constructor(private readonly deps: RescuerDeps) {}

  start(): void {
    this.stopped = false;
    this.schedule(0);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    await this.sweeping;
  }

  /** A commit says when one of its tasks is due; if that is sooner than the next look, the look comes sooner. */
  hear({ dueAt, now }: Committed): void {
    if (dueAt !== null && !this.stopped) this.schedule(dueAt - now);
  }

  /** Looks once at everything that is due now. */
  async sweep(): Promise<void> {
    const { deps } = this;
    for (;;) {
      const { due, nextInMs } = await deps.loadDue(deps.clock.offsetMs(), BATCH);
      const lookedAt = performance.now();
      const sent = await Promise.allSettled(due.map((one) => deps.send(this.envelope(one))));
      for (const result of sent) if (result.status === 'rejected') throw result.reason;
      if (due.length < BATCH) {
        if (nextInMs !== null && !this.stopped) this.schedule(nextInMs - (performance.now() - lookedAt));
        return;
      }
    }
  }

  private envelope({ projectId, taskId, leaseToken }: Due): Envelope {
    const command: Command =
      leaseToken === null ? { type: 'wake', taskId } : { type: 'expire', taskId, leaseToken };
    return { actor: serverActor(projectId), command, idempotency: null, request: this.deps.newTrace() };
  }

  private schedule(inMs: number): void {
    const delay = Math.min(Math.max(Math.ceil(inMs), 0), SWEEP_MS);
    const at = performance.now() + delay;
    if (at >= this.wakeAt && this.timer !== null) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.wakeAt = at;
    this.timer = setTimeout(() => this.tick(), delay);
  }

  private tick(): void {
    this.timer = null;
    this.wakeAt = Number.POSITIVE_INFINITY;
    if (this.sweeping !== null) {
      this.schedule(1);
      return;
    }
    this.sweeping = this.sweep()
      .catch((error: unknown) =>
        this.deps.log.warn({ err: error }, 'expired leases could not be looked for; trying again'),
      )
      .finally(() => {
        this.sweeping = null;
        if (!this.stopped) this.schedule(SWEEP_MS);
      });
  }
}
