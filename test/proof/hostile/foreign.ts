import type TestAgent from 'supertest/lib/agent.js';
import type { Role } from '../../../src/kernel/actor.js';
import type { TestApp } from '../../support/app.js';
import { send } from '../../support/play.js';
import { Board } from './board.js';

/** Stands in every text of the other project. */
export const FOREIGN_MARK = 'property-of-the-other-project';

/** Another project beside ours: something of each kind, all of it marked, and more of it now and then. */
export class Foreign {
  /** What there is of it, for requests that reach for it. */
  readonly board = new Board();
  /** The ids of everything in it. Not its own: who runs the server made it, which stands in the log of the default project. */
  ids: ReadonlySet<string> = new Set();
  private rows = '';

  private constructor(
    private readonly app: TestApp,
    private readonly projectId: string,
    private readonly operator: TestAgent,
    private readonly planner: TestAgent,
    private readonly executor: TestAgent,
  ) {}

  static async begin(app: TestApp): Promise<Foreign> {
    const { http: operator } = await app.newProject('somebody else');
    const newAgent = async (role: Role) => {
      const wanted = { name: `${FOREIGN_MARK} ${role}`, roles: [role] };
      const { body } = await operator.post('/v1/agents').send(wanted).expect(201);
      return app.withKey(body.api_key);
    };
    const { body: me } = await operator.get('/v1/me').expect(200);
    const projectId = me.project.id.replace('prj_', '');
    const foreign = new Foreign(
      app,
      projectId,
      operator,
      await newAgent('planner'),
      await newAgent('executor'),
    );
    await foreign.grow();
    return foreign;
  }

  /** Adds something of each kind, so that it is among the newest of whatever is listed. */
  async grow(): Promise<void> {
    const { planner, executor, operator } = this;
    const { body: run } = await planner.post('/v1/runs').send({ name: FOREIGN_MARK }).expect(201);
    for (const { command, more } of ENDINGS) {
      const { body: task } = await planner
        .post('/v1/tasks')
        .send({ title: FOREIGN_MARK, description: FOREIGN_MARK, run_id: run.id, limits: { max_errors: 1 } })
        .expect(201);
      if (command === null) continue;
      const { body: claim } = await send(executor, task.id, 'claim').expect(200);
      await send(executor, task.id, command, { lease_token: claim.lease_token, ...more }).expect(200);
    }
    for (const list of ['tasks', 'runs', 'trips', 'agents', 'breakers'])
      this.board.learn((await operator.get(`/v1/${list}`).expect(200)).body, `list_${list}`, 'foreign');
    // When its agents were last seen is written beside their requests.
    await this.app.deps.agents.settled();
    this.rows = await this.allRows();
    this.ids = new Set(this.rows.match(UUIDS));
  }

  /** Whether every row of it is as it was when it last grew. */
  async isUntouched(): Promise<boolean> {
    return (await this.allRows()) === this.rows;
  }

  private async allRows(): Promise<string> {
    const texts: string[] = [];
    for (const table of TABLES) {
      const { rows } = await this.app.pool.query<{ row: string }>(
        `SELECT (to_jsonb(t) - 'project_id')::text AS row FROM ${table} t
          WHERE ${table === 'projects' ? 'id' : 'project_id'} = $1 ORDER BY 1`,
        [this.projectId],
      );
      texts.push(...rows.map(({ row }) => row.replaceAll(this.projectId, '')));
    }
    return texts.join('\n');
  }
}

const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

const TABLES = [
  'projects',
  'agents',
  'api_keys',
  'runs',
  'tasks',
  'attempts',
  'dependencies',
  'trips',
  'breakers',
  'events',
  'idempotency_keys',
];

/** How its tasks end, each in another state. */
const ENDINGS = [
  { command: null, more: {} },
  { command: 'heartbeat', more: {} },
  { command: 'submit', more: { result: FOREIGN_MARK } },
  { command: 'fail', more: { error: { message: FOREIGN_MARK, detail: FOREIGN_MARK } } },
];
