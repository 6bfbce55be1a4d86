import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Actor, Role } from '../../../src/kernel/actor.js';
import type { Answer } from '../../../src/kernel/answer.js';
import type { OwnLimits } from '../../../src/modules/guard/types.js';
import { NO_USAGE } from '../../../src/modules/tasks/decide/machine.js';
import type { AnyCommand, NewTask } from '../../../src/modules/tasks/types.js';
import type { TestApp } from '../../support/app.js';

/** One thing that somebody tries at night: which command, on which of the tasks, with which numbers. */
export interface Move {
  readonly what: (typeof MOVES)[number];
  readonly task: number;
  readonly agent: number;
  readonly size: number;
}

const MOVES = [
  'create',
  'claim',
  'claim',
  'submit',
  'submit',
  'rework',
  'rework',
  'lap',
  'lap',
  'lap',
  'lap',
  'failure',
  'failure',
  'give_back',
  'approve',
  'fail',
  'fail_fatal',
  'fail_outside',
  'release',
  'heartbeat',
  'report_late',
  'review_fails',
  'review_dies',
  'unblock',
  'unblock',
  'unblock_reset',
  'block',
  'cancel',
  'edit_limits',
  'supersede',
  'split',
  'recover_run',
  'edit_run',
  'edit_project',
  'time_passes',
  'long_time_passes',
] as const;

/** What goes together, so that limits are reached. */
const LAPS: { readonly [what in Move['what']]?: readonly Move['what'][] } = {
  lap: ['claim', 'submit', 'rework'],
  failure: ['claim', 'fail'],
  give_back: ['claim', 'release'],
};

/** Moves in any order. Most are refused; what is not makes a history. */
export const moves = fc.array(
  fc.record({
    what: fc.constantFrom(...MOVES),
    task: fc.nat(2),
    agent: fc.nat(1),
    size: fc.nat(9),
  }),
  { minLength: 60, maxLength: 120, size: 'max' },
);

/** So few that each gets far. */
const TASKS_MAX = 3;

const OWN_LIMITS: readonly OwnLimits[] = [
  {},
  {},
  { maxReworks: 2 },
  { maxTokens: 900 },
  { maxErrors: 2, maxReviewFailures: 2 },
  { maxAttempts: 3 },
];

/** A project of its own, and everybody who is up in it. */
export class Night {
  private readonly tasks: string[] = [];
  private readonly runs: (string | null)[] = [null];
  private said = 0;

  private constructor(
    private readonly app: TestApp,
    readonly projectId: string,
    private readonly people: Readonly<Record<'planner' | 'operator', Actor>> & {
      readonly executors: readonly Actor[];
      readonly reviewer: Actor;
    },
    private readonly operatorKey: string,
  ) {}

  static async begin(app: TestApp): Promise<Night> {
    const { key } = await app.newProject();
    const operator = await actorOf(app, key);
    const add = async (...roles: Role[]): Promise<Actor> => {
      const name = `${roles.join(' ')} ${Math.random()}`;
      const { body } = await app.withKey(key).post('/v1/agents').send({ name, roles }).expect(201);
      return actorOf(app, body.api_key);
    };
    const executors = [await add('executor'), await add('executor')];
    const people = { operator, executors, planner: await add('planner'), reviewer: await add('reviewer') };
    const night = new Night(app, operator.projectId, people, key);
    await night.addRun('total', { maxIterations: 6, maxRunTokens: 4_000 }, 5_000_000);
    await night.addRun('since_progress', { maxIterations: 4 }, null);
    return night;
  }

  async play(moves: readonly Move[]): Promise<void> {
    for (const move of moves) await this.move(move);
  }

  private async addRun(
    iterationMode: 'total' | 'since_progress',
    limits: OwnLimits,
    lastsMs: number | null,
  ): Promise<void> {
    const id = this.app.deps.newId();
    const deadlineAt = lastsMs === null ? null : Date.now() + this.app.clock.offsetMs() + lastsMs;
    await this.send(this.people.planner, {
      type: 'create_run',
      run: { id, name: id, limits, iterationMode, deadlineAt },
    });
    this.runs.push(id);
  }

  private async move(move: Move): Promise<void> {
    const steps = LAPS[move.what];
    if (steps === undefined) return this.step(move);
    for (const what of steps) await this.step({ ...move, what });
  }

  private async step({ what, task: which, agent, size }: Move): Promise<void> {
    const { planner, operator, executors, reviewer } = this.people;
    const taskId = this.tasks[which % Math.max(1, this.tasks.length)];
    const executor = executors[agent] ?? planner;
    const usage = {
      ...NO_USAGE,
      tokens: { input: size * 40, output: 10, cacheRead: 5, cacheWrite: size },
      costMicros: size * 1_000,
      iterations: size % 3,
    };
    this.said += 1;
    const reason = `for reason ${this.said}`;
    if (what === 'create' || taskId === undefined) return this.create(size, null);
    if (what === 'time_passes' || what === 'long_time_passes') {
      this.app.clock.advance(what === 'time_passes' ? 61 : 4_000);
      return this.app.tasks.sweep();
    }
    if (what === 'edit_project') {
      const limits = [{ max_reworks: 3 }, { max_reworks: null }, { max_errors: 2 }, { max_tokens: 600 }][
        size % 4
      ];
      await this.app
        .withKey(this.operatorKey)
        .patch('/v1/projects/current')
        .set('if-match', '*')
        .send({ limits })
        .expect(200);
      return;
    }
    const runId = this.runs[1 + (size % (this.runs.length - 1))] ?? '';
    if (what === 'recover_run') {
      const changes = size % 2 === 0 ? {} : { limits: { maxIterations: 4 + size } };
      return this.send(operator, {
        type: 'recover_run',
        runId,
        strategy: 'reset',
        reason,
        assessment: null,
        changes,
        resetTokens: size > 4,
      });
    }
    if (what === 'edit_run') {
      const edit = { limits: size % 2 === 0 ? { maxIterations: 3 + size } : { maxReworks: 1 + (size % 4) } };
      return this.send(planner, { type: 'update_run', runId, edit });
    }
    if (what === 'supersede') return this.create(size, taskId);
    const held = await this.held(taskId);
    const leaseToken = held.token;
    const by = held.by === executors[1]?.agentId ? executors[1] : (executors[0] ?? planner);
    const error = { message: `no answer ${size % 2 === 0 ? 'a' : 'b'}`, detail: null };
    const result = `result ${size % 3}`;
    const resultHash = createHash('sha256').update(result).digest('hex');
    const verdict = { attempt: null, leaseToken: null, reason, findings: [] };
    switch (what) {
      case 'claim':
        return this.send(executor, {
          type: 'claim',
          taskId,
          purpose: 'work',
          leaseSeconds: 60,
          sessionId: null,
        });
      case 'submit':
        return this.send(by, {
          type: 'submit',
          taskId,
          leaseToken,
          result,
          resultHash,
          usage: size % 2 === 0 ? usage : null,
          change: null,
        });
      case 'rework':
        return this.send(reviewer, { type: 'rework', taskId, ...verdict, class: 'defect' });
      case 'review_fails':
        return this.send(reviewer, { type: 'rework', taskId, ...verdict, class: 'infrastructure' });
      case 'review_dies':
        await this.send(reviewer, {
          type: 'claim',
          taskId,
          purpose: 'review',
          leaseSeconds: 1,
          sessionId: null,
        });
        this.app.clock.advance(2);
        return this.app.tasks.sweep();
      case 'approve':
        return this.send(reviewer, { type: 'approve', taskId, attempt: null, leaseToken: null, note: null });
      case 'fail':
      case 'fail_fatal':
      case 'fail_outside': {
        const errorClass = what === 'fail' ? 'error' : what === 'fail_fatal' ? 'fatal' : 'infrastructure';
        return this.send(by, {
          type: 'fail',
          taskId,
          leaseToken,
          error: { class: errorClass, ...error },
          retryAfterSeconds: 0,
          usage: size > 6 ? usage : null,
        });
      }
      case 'release':
        return this.send(by, { type: 'release', taskId, leaseToken, reason });
      case 'heartbeat':
        return this.send(by, { type: 'heartbeat', taskId, leaseToken, usage });
      case 'report_late':
        return this.send(by, {
          type: 'report_usage',
          taskId,
          leaseToken: null,
          attempt: Math.max(1, held.attempt - (size % 2)),
          usage,
        });
      case 'unblock':
      case 'unblock_reset': {
        const changes =
          size % 3 === 0
            ? { description: reason }
            : { limits: { maxTokens: 1_000 + size * 500, maxReworks: 1 + (size % 5) } };
        const to = size === 7 ? 'in_review' : 'pending';
        return this.send(operator, {
          type: 'unblock',
          taskId,
          reason,
          assessment: null,
          changes,
          resetTokens: what === 'unblock_reset',
          to,
        });
      }
      case 'split': {
        const tasks = [newTask(this.app, {}), newTask(this.app, {})];
        this.tasks[0] = tasks[0]?.id ?? taskId;
        return this.send(operator, {
          type: 'split',
          taskId,
          reason,
          assessment: null,
          changes: {},
          resetTokens: true,
          tasks,
        });
      }
      case 'block':
        return this.send(planner, { type: 'block', taskId, kind: 'other', reason });
      case 'cancel':
        return size > 7 ? this.send(planner, { type: 'cancel', taskId, reason }) : undefined;
      case 'edit_limits':
        return this.send(operator, {
          type: 'update',
          taskId,
          edit: { limits: { maxErrors: 1 + (size % 4), maxCostMicros: size > 5 ? null : 5_000 + size } },
        });
    }
  }

  private async create(size: number, supersedes: string | null): Promise<void> {
    const limits = OWN_LIMITS[size % OWN_LIMITS.length] ?? {};
    const task = {
      ...newTask(this.app, limits),
      supersedes,
      runId: this.runs[size % this.runs.length] ?? null,
    };
    const made = await this.sent(this.people.operator, {
      type: 'create',
      tasks: [task],
      run: null,
      plan: false,
    });
    if (made.kind !== 'created') return;
    const place = supersedes === null ? size % TASKS_MAX : this.tasks.indexOf(supersedes);
    this.tasks[Math.min(place, this.tasks.length)] = task.id;
  }

  private async held(taskId: string): Promise<{ token: number; by: string | null; attempt: number }> {
    const { rows } = await this.app.pool.query(
      `SELECT t.attempt, coalesce(a.lease_token, 1) AS token, a.agent_id AS by FROM tasks t
        LEFT JOIN attempts a ON a.project_id = t.project_id AND a.task_id = t.id AND a.number = t.attempt WHERE t.id = $1`,
      [taskId],
    );
    return rows[0] ?? { token: 1, by: null, attempt: 1 };
  }

  private async send(actor: Actor, command: AnyCommand): Promise<void> {
    await this.sent(actor, command);
  }

  private sent(actor: Actor, command: AnyCommand): Promise<Answer> {
    return this.app.tasks.send({
      actor,
      command,
      idempotency: null,
      request: { requestId: 'night', traceId: '0'.repeat(32) },
    });
  }
}

async function actorOf(app: TestApp, key: string): Promise<Actor> {
  const { body } = await app.withKey(key).get('/v1/me').expect(200);
  return {
    projectId: body.project.id.slice('prj_'.length),
    agentId: body.agent.id.slice('agt_'.length),
    name: body.agent.name,
    roles: body.agent.roles ?? body.roles,
  };
}

function newTask(app: TestApp, limits: OwnLimits): NewTask {
  return {
    id: app.deps.newId(),
    runId: null,
    parentId: null,
    title: 'Fetch the posts',
    description: '',
    acceptance: [],
    priority: 5,
    labels: [],
    dependsOn: [],
    limits,
    notBefore: null,
    dedupeKey: null,
    supersedes: null,
  };
}
