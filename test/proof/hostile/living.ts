import type { TestApp } from '../../support/app.js';
import { Board } from './board.js';
import type { Ref } from './template.js';
import { Lane, type Reply } from './wire.js';

/** An agent of ours that sends requests. */
interface Caller {
  readonly key: string;
  readonly roles: readonly string[];
}

const NOBODY = '01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b';

const ID_PREFIX: Readonly<Record<string, string>> = {
  task: 'task_',
  run: 'run_',
  agent: 'agt_',
  trip: 'trip_',
  breaker: 'brk_',
  session: 'ses_',
  key: '',
};

/** A project that lives while it is attacked, its agents, and beside it one that belongs to somebody else. */
export class Living {
  readonly board = new Board();
  private readonly lane: Lane;

  private constructor(
    readonly projectId: string,
    private readonly foreign: Board,
    private readonly callers: ReadonlyMap<string, Caller>,
    /** By name, what opens nothing. */
    private readonly useless: ReadonlyMap<string, string | null>,
    port: number,
  ) {
    this.lane = new Lane(port);
  }

  /** Gathers our callers beside a project that is there already. */
  static async begin(app: TestApp, foreign: Board): Promise<Living> {
    const callers = new Map<string, Caller>();
    for (const [role, key] of Object.entries(app.keys)) callers.set(role, { key, roles: [role] });
    const second = await app.newAgent('executor');
    const both = await app.newAgent('executor', 'reviewer');
    callers.set('second executor', { key: second.key, roles: ['executor'] });
    callers.set('executor and reviewer', { key: both.key, roles: ['executor', 'reviewer'] });
    const revoked = await app.newAgent('operator');
    const me = await revoked.http.get('/v1/me').expect(200);
    await app.as('operator').delete(`/v1/agents/${revoked.id}/keys/${me.body.key_id}`).expect(204);
    const useless = new Map([
      ['nobody', null],
      ['a revoked key', `Bearer ${revoked.key}`],
      ['a cut-off key', `Bearer ${app.keys.operator.slice(0, -1)}`],
      ['another scheme', 'Basic b3BlcmF0b3I6b3BlcmF0b3I='],
    ]);
    const port = Number(new URL(app.url).port);
    return new Living(me.body.project.id, foreign, callers, useless, port);
  }

  /** The header of a caller; null when it sends none. */
  authorizationOf(name: string): string | null {
    const caller = this.callers.get(name);
    return caller === undefined ? (this.useless.get(name) ?? null) : `Bearer ${caller.key}`;
  }

  /** One whose key opens nothing. */
  shutOut(pick: number): string {
    return at([...this.useless.keys()], pick);
  }

  /** A caller with one of these roles. */
  callerWith(roles: readonly string[] | 'any', pick: number): string {
    const fitting = [...this.callers].filter(([, caller]) =>
      roles === 'any' ? true : caller.roles.some((role) => roles.includes(role)),
    );
    return at(
      fitting.map(([name]) => name),
      pick,
    );
  }

  /** What a reference stands for; an id of nobody where there is nothing to name. */
  find(ref: Ref, operation: string, subject: string): unknown {
    const nobodys = `${ID_PREFIX[ref.kind] ?? ''}${NOBODY}`;
    if (ref.whose === 'nobody') return nobodys;
    const board = ref.whose === 'own' ? this.board : this.foreign;
    const found = board.find(ref, operation, subject);
    return found ?? (ref.kind === 'cursor' ? null : nobodys);
  }

  /** Sends a plain request as one of ours, and learns from the answer. */
  private async ask(caller: string, operation: string, call: string, body?: object): Promise<Reply> {
    const [method = '', target = ''] = call.split(' ');
    const headers = [
      ['Host', 'board.example'],
      ['Authorization', this.authorizationOf(caller) ?? ''],
      ['Content-Type', 'application/json'],
      ...(method === 'PATCH' ? [['If-Match', '*'] as const] : []),
    ] as const;
    const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const reply = await this.lane.send({ method, target, headers, body: bytes }, true);
    if (reply.status === 200 || reply.status === 201)
      this.board.learn(JSON.parse(reply.body), operation, caller);
    return reply;
  }

  /**
   * Sees to it that there is something of every kind again: what is free, held, in review, blocked, and a run that stands. What
   * is refused on the way is no matter.
   */
  async tend(): Promise<void> {
    const limits = Object.fromEntries(LIMITS.map((name) => [name, null]));
    await this.ask('operator', 'update_project', 'PATCH /v1/projects/current', { limits });
    await this.openBreakers();
    await this.ask('operator', 'create_agent', 'POST /v1/agents', {
      name: `made on the way ${performance.now()}`,
      roles: ['executor'],
    });
    for (const executor of ['executor', 'second executor', 'executor and reviewer']) {
      await this.task({});
      const held = await this.task({});
      await this.claim(held, executor);
      const judged = await this.task({ limits: { max_reworks: 50 } });
      const token = await this.claim(judged, executor);
      await this.ask(executor, 'submit_task', `POST /v1/tasks/${judged}/submit`, {
        lease_token: token,
        result: 'handed in',
      });
      const failing = await this.task({ limits: { max_errors: 1 } });
      const failed = await this.claim(failing, executor);
      await this.ask(executor, 'fail_task', `POST /v1/tasks/${failing}/fail`, {
        lease_token: failed,
        error: { message: 'it broke' },
      });
    }
    const run = await this.ask('planner', 'create_run', 'POST /v1/runs', {
      name: 'stands soon',
      limits: { max_iterations: 1 },
    });
    await this.claim(await this.task({ run_id: idIn(run) }), 'executor');
    await this.ask('planner', 'list_trips', 'GET /v1/trips?limit=30&state=open');
    await this.ask('planner', 'list_events', 'GET /v1/events?limit=1');
  }

  private async openBreakers(): Promise<void> {
    const reply = await this.ask('operator', 'list_breakers', 'GET /v1/breakers');
    const { data }: { data: { id: string; state: string }[] } = JSON.parse(reply.body);
    for (const { id, state } of data.filter((breaker) => breaker.state !== 'closed'))
      await this.ask('operator', 'close_breaker', `POST /v1/breakers/${id}/close`, {
        reason: `it was ${state}`,
      });
  }

  private async task(fields: object): Promise<string> {
    return idIn(
      await this.ask('planner', 'create_task', 'POST /v1/tasks', { title: 'Something to do', ...fields }),
    );
  }

  private async claim(id: string, caller: string): Promise<number> {
    const reply = await this.ask(caller, 'claim_task', `POST /v1/tasks/${id}/claim`, { for: 'work' });
    return Number(reply.status === 200 ? JSON.parse(reply.body).lease_token : 1);
  }

  close(): void {
    this.lane.close();
  }
}

const LIMITS = [
  'max_reworks',
  'max_errors',
  'max_tokens',
  'max_cost_usd',
  'max_review_failures',
  'max_attempts',
  'max_unblocks',
  'reassign_after',
  'max_attempt_seconds',
  'max_iterations',
  'max_run_tokens',
  'max_run_cost_usd',
];

function idIn(reply: Reply): string {
  return reply.status === 200 || reply.status === 201 ? JSON.parse(reply.body).id : `task_${NOBODY}`;
}

function at(names: readonly string[], pick: number): string {
  return names[pick % names.length] ?? '';
}
