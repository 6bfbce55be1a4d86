import type pg from 'pg';
import { createPool } from '../../../src/db/pool.js';
import type { Actor, Role } from '../../../src/kernel/actor.js';
import { movableClock } from '../../../src/kernel/clock.js';
import { newId } from '../../../src/kernel/ids.js';
import { someNewTask } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { codeOf, NO_LOG, Process } from '../../support/processes.js';

const HANDS = 4;

/** What came of a load. */
export interface Loaded {
  /** Tasks that went all the way to done. */
  readonly done: number;
  /** Answers that were no success, and errors. */
  readonly failures: readonly string[];
}

/**
 * A process that was there before the migration and goes on: its connections have prepared their statements against the tables as
 * they were. Several hands each take task after task through the whole loop.
 */
export class Load {
  private readonly failures: string[] = [];
  private readonly hands: Promise<void>[];
  private waiting: { readonly done: number; readonly resolve: () => void } | null = null;
  private done = 0;
  private isStopped = false;

  private constructor(
    private readonly pool: pg.Pool,
    private readonly process: Process,
    people: Readonly<Record<'planner' | 'executor' | 'reviewer', Actor>>,
  ) {
    this.hands = Array.from({ length: HANDS }, () => this.work(people));
  }

  /** Begins to work in the project of that name, and answers once every hand is through its first task. */
  static async begin(databaseUrl: string, project: string): Promise<Load> {
    const pool = createPool({ databaseUrl, poolSize: HANDS, statementTimeoutMs: 15_000 }, NO_LOG);
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM projects WHERE name = $1', [project]);
    const projectId = rows[0]?.id ?? '';
    const join = async (role: Role): Promise<Actor> => {
      const agentId = newId();
      const name = `a ${role} under load`;
      await pool.query(
        'INSERT INTO agents (project_id, id, name, roles, created_at) VALUES ($1, $2, $3, $4, now())',
        [projectId, agentId, name, [role]],
      );
      return { projectId, agentId, name, roles: [role] };
    };
    const people = {
      planner: await join('planner'),
      executor: await join('executor'),
      reviewer: await join('reviewer'),
    };
    const load = new Load(pool, new Process(pool, movableClock(), 64), people);
    await load.more(HANDS);
    return load;
  }

  /** Resolves when so many more tasks are done, or nothing is any more. */
  async more(count: number): Promise<void> {
    const progress = new Promise<void>((resolve) => {
      this.waiting = { done: this.done + count, resolve };
    });
    await Promise.race([progress, Promise.all(this.hands)]);
  }

  async stop(): Promise<Loaded> {
    this.isStopped = true;
    await Promise.all(this.hands);
    await this.process.tasks.close();
    await this.pool.end();
    return { done: this.done, failures: this.failures };
  }

  private async work(people: Readonly<Record<'planner' | 'executor' | 'reviewer', Actor>>): Promise<void> {
    while (!this.isStopped) {
      const id = newId();
      const { claim, submit, approve } = commandsOn(id, 1);
      const create = { type: 'create', tasks: [someNewTask({ id })], run: null, plan: false } as const;
      try {
        for (const [actor, command] of [
          [people.planner, create],
          [people.executor, claim],
          [people.executor, submit],
          [people.reviewer, approve],
        ] as const) {
          const code = codeOf(await this.process.send(actor, command, `${command.type} ${id}`));
          if (code !== 'done' && code !== 'created') this.failures.push(`${command.type}: ${code}`);
        }
      } catch (error) {
        this.failures.push(String(error));
        // What fails once fails for all that follow.
        return;
      }
      this.done += 1;
      if (this.waiting !== null && this.done >= this.waiting.done) this.waiting.resolve();
    }
  }
}
