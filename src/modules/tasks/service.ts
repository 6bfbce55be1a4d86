import type { Pool } from '../../db/statement.js';
import type { Answer } from '../../kernel/answer.js';
import type { Clock } from '../../kernel/clock.js';
import type { NewId } from '../../kernel/ids.js';
import type { Log } from '../../kernel/log.js';
import type { RequestContext } from '../../kernel/request.js';
import type { ServerLimits } from '../guard/limits.js';
import type { Policies } from '../projects/types.js';
import type { Committed, Envelope } from './envelope.js';
import { Pipeline } from './pipeline.js';
import { Rescuer } from './rescuer.js';
import { Reads } from './service/reads.js';
import { loadDue } from './store.js';
import { Waiters } from './waiters.js';

/** What the tasks room needs. */
export interface TasksDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly limits: ServerLimits;
  readonly policies: Policies;
  readonly batchMax: number;
  readonly log: Log;
  /** Told after each commit, for streams, metrics and other processes. */
  readonly onCommit: (commit: Committed) => void;
}

/** How long a waiting claim trusts that it would have been woken. */
const LOOK_AGAIN_MS = 5_000;

/** The tasks room: commands go through the pipeline, reads straight to the database. */
export class Tasks {
  readonly reads: Reads;
  private readonly pipeline: Pipeline;
  private readonly waiters = new Waiters();
  private readonly rescuer: Rescuer;

  constructor(private readonly deps: TasksDeps) {
    const { pool, clock, newId, log } = deps;
    this.reads = new Reads(deps);
    this.pipeline = new Pipeline({
      pool,
      clock,
      newId,
      server: deps.limits,
      policies: deps.policies,
      batchMax: deps.batchMax,
      onCommit: (commit) => this.committed(commit),
    });
    this.rescuer = new Rescuer({
      loadDue: (offsetMs, limit) => loadDue(pool, offsetMs, limit),
      send: (envelope) => this.pipeline.send(envelope),
      clock,
      newTrace: () => serverTrace(newId),
      log,
    });
  }

  /** Begins to look after leases. */
  start(): void {
    this.rescuer.start();
  }

  /** Answers every waiting claim, commits what is in flight, and stops. */
  async close(): Promise<void> {
    this.waiters.close();
    await this.rescuer.stop();
    await this.pipeline.drain();
  }

  /** Sends a command; the answer is complete, and what it changed durable. */
  send(envelope: Envelope): Promise<Answer> {
    return this.pipeline.send(envelope);
  }

  /**
   * Sends a claim; where there is nothing, waits for work without holding anything, until `waitMs` have passed. Nothing is
   * given to who is no longer welcome when the wait ends.
   */
  async claim(
    envelope: Envelope,
    waitMs: number,
    signal: AbortSignal,
    isWelcome: () => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<Answer> {
    const { projectId } = envelope.actor;
    const until = performance.now() + waitMs;
    for (;;) {
      const place = this.waiters.stand(projectId);
      const answer = await this.pipeline.send(envelope).catch((error: unknown) => {
        place.leave();
        throw error;
      });
      const left = until - performance.now();
      const goesOn = answer.kind === 'none' && left > 0 && !signal.aborted && !this.waiters.isClosed;
      if (!goesOn) place.leave();
      // It may have been woken for what it did not take: the next one looks.
      this.waiters.passOn(projectId);
      if (!goesOn) return answer;
      await place.wait(Math.min(left, LOOK_AGAIN_MS), signal);
      if (signal.aborted || !(await isWelcome())) {
        this.waiters.passOn(projectId);
        return { kind: 'none' };
      }
    }
  }

  /** Looks once at every lease and waiting time that has passed. */
  sweep(): Promise<void> {
    return this.rescuer.sweep();
  }

  /** Another process has changed this project: there may be work. */
  heard(projectId: string): void {
    this.waiters.offer(projectId, Number.POSITIVE_INFINITY);
  }

  private committed(commit: Committed): void {
    if (commit.offered > 0) this.waiters.offer(commit.projectId, commit.offered);
    this.rescuer.hear(commit);
    this.deps.onCommit(commit);
  }
}

/** The server's own commands have a request of their own in the log. */
function serverTrace(newId: NewId): RequestContext {
  const id = newId();
  return { requestId: `server-${id}`, traceId: id.replaceAll('-', '') };
}
