import type pg from 'pg';
import { createDefaultProject } from '../../src/bootstrap.js';
import type { DatabaseLog } from '../../src/db/log.js';
import { createPool } from '../../src/db/pool.js';
import type { Actor, Role } from '../../src/kernel/actor.js';
import type { Answer } from '../../src/kernel/answer.js';
import { movableClock } from '../../src/kernel/clock.js';
import { newId } from '../../src/kernel/ids.js';
import type { Committed } from '../../src/modules/tasks/envelope.js';
import { createTasks, type Tasks } from '../../src/modules/tasks/index.js';
import type { AnyCommand } from '../../src/modules/tasks/types.js';
import { audit } from './audit.js';
import { POLICIES, SERVER } from './builders.js';
import { createTestDatabase } from './database.js';
import { quietLog } from './server.js';

/** One of several processes over one database: rooms and connections of its own. */
export class Process {
  readonly commits: Committed[] = [];
  readonly tasks: Tasks;
  private sent = 0;

  constructor(
    readonly pool: pg.Pool,
    clock: ReturnType<typeof movableClock>,
    batchMax: number,
  ) {
    this.tasks = createTasks({
      pool,
      clock,
      newId,
      limits: { ...SERVER, maxIterations: 1_000_000 },
      policies: { ...POLICIES, errorRecovery: 'manual' },
      batchMax,
      log: quietLog,
      onCommit: (commit) => this.commits.push(commit),
    });
  }

  send(actor: Actor, command: AnyCommand, key: string | null = null): Promise<Answer> {
    this.sent += 1;
    const idempotency =
      key === null ? null : { key, route: `POST ${command.type}`, requestHash: command.type };
    const request = { requestId: `test-${this.sent}`, traceId: newId().replaceAll('-', '') };
    return this.tasks.send({ actor, command, idempotency, request });
  }

  claim(actor: Actor, command: AnyCommand, waitMs: number, signal: AbortSignal): Promise<Answer> {
    const request = { requestId: 'waits', traceId: newId().replaceAll('-', '') };
    return this.tasks.claim({ actor, command, idempotency: null, request }, waitMs, signal);
  }
}

/** The database goes while its connections are still closing: nothing to tell of. */
export const NO_LOG: DatabaseLog = { info() {}, warn() {}, error() {} };

/** A database with the default project, and as many processes over it as a test asks for. */
export interface Processes {
  readonly pool: pg.Pool;
  readonly all: readonly Process[];
  /** The first process. */
  readonly one: Process;
  readonly clock: ReturnType<typeof movableClock>;
  agent(...roles: Role[]): Promise<Actor & { readonly agentId: string }>;
  audit(): ReturnType<typeof audit>;
  close(): Promise<void>;
}

export async function startProcesses(count = 1, { batchMax = 64 } = {}): Promise<Processes> {
  const clock = movableClock();
  const database = await createTestDatabase();
  const { pool, url: databaseUrl } = database;
  await createDefaultProject({ pool, clock, newId, onCommit: () => undefined });
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM projects');
  const projectId = rows[0]?.id ?? '';
  const pools: pg.Pool[] = [];
  const make = () => {
    const own = createPool({ databaseUrl, poolSize: 8, statementTimeoutMs: 15_000 }, NO_LOG);
    pools.push(own);
    return new Process(own, clock, batchMax);
  };
  const all = Array.from({ length: count }, make);
  const [one = make()] = all;
  let agents = 0;
  return {
    pool,
    all,
    one,
    clock,
    async agent(...roles) {
      agents += 1;
      const agentId = newId();
      const name = `${roles.join(' and ')} ${agents}`;
      await pool.query(
        'INSERT INTO agents (project_id, id, name, roles, created_at, last_seen_at) VALUES ($1, $2, $3, $4, now(), now())',
        [projectId, agentId, name, roles],
      );
      return { projectId, agentId, name, roles };
    },
    audit: () => audit(pool),
    async close() {
      for (const { tasks } of all) await tasks.close();
      for (const own of pools) await own.end();
      await database.drop();
    },
  };
}

/** What an answer says, taken apart: the code of a refusal, or the body. */
export function codeOf(answer: Answer): string {
  return answer.kind === 'refused' ? answer.refusal.code : answer.kind;
}

/** The body of an answer that is neither a refusal nor nothing. */
export function bodyOf(answer: Answer) {
  if (answer.kind !== 'done' && answer.kind !== 'created') throw new Error(`answered ${codeOf(answer)}`);
  return JSON.parse(answer.body);
}
