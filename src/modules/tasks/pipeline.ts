import { isDatabaseUnavailable } from '../../db/faults.js';
import {
  BEGIN,
  COMMIT,
  combine,
  discard,
  type Pool,
  type PoolClient,
  ROLLBACK,
  rowsOf,
  type Statement,
} from '../../db/statement.js';
import type { Answer } from '../../kernel/answer.js';
import type { Clock } from '../../kernel/clock.js';
import type { NewId } from '../../kernel/ids.js';
import { committed } from '../events/index.js';
import type { ServerLimits } from '../guard/limits.js';
import { type KeptAnswer, MOVED_ON } from '../projects/index.js';
import type { Policies } from '../projects/types.js';
import { Batch } from './batch.js';
import { Board } from './board.js';
import type { Committed, Envelope } from './envelope.js';
import { load, proveHead } from './load.js';

interface Waiting extends Envelope {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** What the pipeline needs, and what it tells when something was committed. */
export interface PipelineDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly server: ServerLimits;
  readonly policies: Policies;
  /** The most commands in one batch; 1 turns batching off. */
  readonly batchMax: number;
  /** Called after each commit, with what it made claimable and when the server must look again. */
  readonly onCommit: (commit: Committed) => void;
}

/** How often a batch is decided again because another process moved the project first; the second time it locks. */
const ATTEMPTS_MAX = 5;
const BOARDS_MAX = 200;

/**
 * The one way by which tasks change. While a batch of a project is in the database, commands for it queue; the next batch takes
 * them all, decides them one after another over one state, and writes them in one transaction. Each gets its own answer.
 */
export class Pipeline {
  private readonly lanes = new Map<string, Lane>();

  constructor(private readonly deps: PipelineDeps) {}

  /** Sends a command. Resolves once what it changed is durable. Rejects only when the database fails or for a bug. */
  send(envelope: Envelope): Promise<Answer> {
    const { projectId } = envelope.actor;
    let lane = this.lanes.get(projectId);
    if (lane === undefined) {
      this.forgetIdleLanes();
      lane = new Lane(new Board(projectId), this.deps);
      this.lanes.set(projectId, lane);
    }
    return lane.send(envelope);
  }

  /** Resolves when everything sent so far is answered. */
  async drain(): Promise<void> {
    await Promise.all([...this.lanes.values()].map((lane) => lane.drain()));
  }

  private forgetIdleLanes(): void {
    if (this.lanes.size < BOARDS_MAX) return;
    for (const [projectId, lane] of this.lanes) if (lane.isIdle) this.lanes.delete(projectId);
  }
}

/** One project's queue: at most one batch of it is in the database at a time. */
class Lane {
  private queue: Waiting[] = [];
  private running: Promise<void> | null = null;

  constructor(
    private readonly board: Board,
    private readonly deps: PipelineDeps,
  ) {}

  get isIdle(): boolean {
    return this.running === null && this.queue.length === 0;
  }

  send(envelope: Envelope): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.queue.push({ ...envelope, resolve, reject });
      this.running ??= this.run();
    });
  }

  async drain(): Promise<void> {
    while (this.running !== null) await this.running;
  }

  private async run(): Promise<void> {
    // What arrived in the same turn of the event loop goes together; a lone command waits for nobody.
    await new Promise(setImmediate);
    while (this.queue.length > 0) {
      const batch = this.queue.slice(0, this.deps.batchMax);
      this.queue = this.queue.slice(batch.length);
      await this.process(batch);
    }
    this.running = null;
  }

  /** Answers every command of a batch. A batch that fails is tried one by one, so that a poisoned command fails alone. */
  private async process(waiting: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.commit(waiting);
      waiting.forEach((command, i) => {
        const answer = answers[i];
        if (answer === undefined) command.reject(new Error('a command was left without an answer'));
        else command.resolve(answer);
      });
    } catch (error) {
      this.board.forget();
      const [first, ...others] = waiting;
      if (others.length === 0 || isDatabaseUnavailable(error)) {
        for (const command of waiting) command.reject(error);
        return;
      }
      for (const command of first === undefined ? others : [first, ...others]) await this.process([command]);
    }
  }

  private async commit(envelopes: readonly Envelope[]): Promise<readonly Answer[]> {
    for (let attempt = 1; ; attempt++) {
      const answers = attempt === 1 ? await this.tryFree(envelopes) : await this.tryLocked(envelopes);
      if (answers !== null) return answers;
      this.board.forget();
      if (attempt === ATTEMPTS_MAX) throw new Error('the project was moved by others again and again');
    }
  }

  /** Reads without locks; the write is refused when somebody else was faster. Null: to be decided again. */
  private async tryFree(envelopes: readonly Envelope[]): Promise<readonly Answer[] | null> {
    const { pool } = this.deps;
    const batch = await this.decide(pool, envelopes, false);
    if (batch.isEmpty) return (await proveHead(pool, this.board)) ? batch.answers : null;
    const [first, ...others] = batch.statements();
    const statements = batch.isFlat ? [combine(first, others)] : [BEGIN, first, ...others, COMMIT];
    return this.write(await pool.connect(), batch, statements);
  }

  /** Holds the project while it reads and decides: slower, but nobody else can be faster. */
  private async tryLocked(envelopes: readonly Envelope[]): Promise<readonly Answer[] | null> {
    const client = await this.deps.pool.connect();
    let batch: Batch;
    let statements: readonly Statement[];
    try {
      await rowsOf(client, BEGIN);
      batch = await this.decide(client, envelopes, true);
      statements = [...batch.statements(), COMMIT];
    } catch (error) {
      discard(client, error);
      throw error;
    }
    if (!batch.isEmpty) return this.write(client, batch, statements);
    // Refused over a project that was held: that is right whether the end of the transaction is heard of or not.
    await rowsOf(client, ROLLBACK).then(
      () => client.release(),
      (error: unknown) => discard(client, error),
    );
    this.board.endBatch();
    return batch.answers;
  }

  private async decide(db: Pool | PoolClient, envelopes: readonly Envelope[], lock: boolean): Promise<Batch> {
    const { clock, server, newId, policies } = this.deps;
    const kept = new Map<string, KeptAnswer>();
    await load(db, this.board, envelopes, { offsetMs: clock.offsetMs(), lock, kept });
    const batch = new Batch(this.board, { server, newId, policies }, kept);
    for (const envelope of envelopes) {
      // A claim that came to the end of what was loaded of its queue looks further before it answers.
      for (let looks = 0; batch.decide(envelope, looks) === 'look further'; looks++) {
        await load(db, this.board, [envelope], {
          offsetMs: clock.offsetMs(),
          lock: false,
          kept,
          sameHead: true,
        });
      }
    }
    return batch;
  }

  private async write(
    client: PoolClient,
    batch: Batch,
    statements: readonly Statement[],
  ): Promise<readonly Answer[] | null> {
    let clock: Board['clock'] = null;
    try {
      const database = await runAll(client, statements);
      if (database !== null) clock = { database, steady: performance.now() };
      client.release();
    } catch (error) {
      discard(client, error);
      if (hasCode(error, MOVED_ON)) return null;
      // The connection was lost on the way: whether the commit was made is read from the log.
      if (!isDatabaseUnavailable(error) || !(await committed(this.deps.pool, batch.mark))) throw error;
    }
    this.deps.onCommit(batch.finish(clock));
    return batch.answers;
  }
}

/**
 * Sends all statements at once; they run in order, and the first error is the one that counts. Answers the time that the one
 * which advances the project tells.
 */
async function runAll(client: PoolClient, statements: readonly Statement[]): Promise<number | null> {
  const running = statements.map((statement) => rowsOf<{ now?: number }>(client, statement));
  const results = await Promise.allSettled(running);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  for (const rows of await Promise.all(running)) if (rows[0]?.now !== undefined) return rows[0].now;
  return null;
}

function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
