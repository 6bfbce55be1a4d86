import type { FastifyInstance } from 'fastify';
import type pg from 'pg';
import supertest from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { buildApp } from '../../src/app.js';
import { createDefaultProject } from '../../src/bootstrap.js';
import { loadConfig } from '../../src/config.js';
import { createPool } from '../../src/db/pool.js';
import { createPrisma } from '../../src/db/prisma.js';
import { createDeps, type Deps } from '../../src/deps.js';
import { createLog } from '../../src/http/index.js';
import type { ROLES, Role } from '../../src/kernel/actor.js';
import { movableClock } from '../../src/kernel/clock.js';
import { newId } from '../../src/kernel/ids.js';
import type { Tasks } from '../../src/modules/tasks/index.js';
import { checkAnswers } from './answer-check.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { quietLog } from './server.js';

/** An agent of the test's project. */
export interface TestCaller {
  readonly id: string;
  readonly key: string;
  /** Sends requests as this agent: `.http.post('/v1/tasks').send({ … })`. */
  readonly http: TestAgent;
}

/** The whole service over a database of its own, with the default project and its five agents. */
export interface TestApp {
  readonly app: FastifyInstance;
  /** Where it listens. */
  readonly url: string;
  readonly keys: Readonly<Record<Role, string>>;
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  readonly deps: Deps;
  readonly tasks: Tasks;
  /** Moves the time of every decision: leases run out, cooldowns pass. Nothing happens by itself; `tasks.sweep()` looks. */
  readonly clock: ReturnType<typeof movableClock>;
  /** Every line of the log so far. */
  readonly logLines: readonly string[];
  /** Sends requests as the default project's agent of that role. */
  as(role: Role): TestAgent;
  /** Sends requests with that key; without one when it is null. */
  withKey(key: string | null): TestAgent;
  /** Adds an agent to the default project. */
  newAgent(...roles: [Role, ...Role[]]): Promise<TestCaller>;
  /** Adds a project of its own; answers its operator. */
  newProject(name?: string): Promise<TestCaller>;
  close(): Promise<void>;
}

/** How a test's service differs from the usual. */
export interface TestAppOptions {
  readonly clock?: ReturnType<typeof movableClock>;
  /** Variables of the environment over the defaults. */
  readonly config?: Readonly<Record<string, string>>;
  /** Begins to look after leases by timer, as the served process does. */
  readonly timers?: boolean;
  /** A database that others have filled, with the keys of its default project. It goes when the app is closed. */
  readonly filled?: { readonly database: TestDatabase; readonly keys: Readonly<Record<Role, string>> };
}

/** Another process of the same service: rooms, connections and caches of its own over the first one's database and clock. */
export interface SecondApp {
  readonly url: string;
  /** Sends requests with that key. */
  withKey(key: string): TestAgent;
  /** Ends it; the database stays. */
  close(): Promise<void>;
}

/** No test is about these limits but those that set them. */
const UNLIMITED = {
  FUSEBOARD_RATE_LIMIT_PER_MINUTE: '1000000000',
  FUSEBOARD_CREATE_LIMIT_PER_MINUTE: '1000000000',
  FUSEBOARD_FLEET_THRESHOLD: '1000',
};

function depsOver(
  { url: databaseUrl, pool }: { readonly url: string; readonly pool: pg.Pool },
  clock: ReturnType<typeof movableClock>,
  variables: TestAppOptions['config'] = {},
  write: (line: string) => void = () => undefined,
): Deps {
  const config = loadConfig({ ...UNLIMITED, DATABASE_URL: databaseUrl, ...variables });
  const log = createLog(config.logLevel, { write });
  return createDeps({ config, log, databaseUrl, pool, prisma: createPrisma(pool), clock, newId });
}

async function serve(deps: Deps): Promise<{ readonly app: FastifyInstance; readonly url: string }> {
  const app = await buildApp(deps, () => ({ ok: true, reasons: [] }));
  checkAnswers(app);
  return { app, url: await app.listen({ port: 0, host: '127.0.0.1' }) };
}

function callerAt(url: string, key: string | null): TestAgent {
  const agent = supertest.agent(url);
  return key === null ? agent : agent.set('authorization', `Bearer ${key}`);
}

/** Starts the service once more over the database of a first one. Close it before that one. */
export async function startSecondApp({ databaseUrl, clock }: TestApp): Promise<SecondApp> {
  const pool = createPool({ databaseUrl, poolSize: 8, statementTimeoutMs: 15_000 }, quietLog);
  const { app, url } = await serve(depsOver({ url: databaseUrl, pool }, clock));
  return {
    url,
    withKey: (key) => callerAt(url, key),
    async close() {
      await app.close();
      await pool.end();
    },
  };
}

/** Starts the whole service for one test file. Close it in `afterAll`. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const clock = options.clock ?? movableClock();
  const { filled } = options;
  const database = filled?.database ?? (await createTestDatabase());
  const { pool } = database;
  const logLines: string[] = [];
  const deps = depsOver(database, clock, options.config, (line) => void logLines.push(line));
  const made = await createDefaultProject(deps.administration);
  const { app, url } = await serve(deps);
  if (options.timers === true) deps.tasks.start();

  const withKey = (key: string | null): TestAgent => callerAt(url, key);
  const keyOf = (role: Role): string => made?.get(role) ?? filled?.keys[role] ?? '';
  const keys = {
    planner: keyOf('planner'),
    executor: keyOf('executor'),
    reviewer: keyOf('reviewer'),
    manager: keyOf('manager'),
    operator: keyOf('operator'),
  } satisfies Record<(typeof ROLES)[number], string>;
  let count = 0;
  const named = (what: string): string => {
    count += 1;
    return `${what} ${count}`;
  };

  return {
    app,
    url,
    keys,
    pool,
    databaseUrl: database.url,
    deps,
    tasks: deps.tasks,
    clock,
    logLines,
    withKey,
    as: (role) => withKey(keys[role]),
    async newAgent(...roles) {
      const answer = await withKey(keys.operator)
        .post('/v1/agents')
        .send({ name: named(roles.join(' and ')), roles })
        .expect(201);
      const { id, api_key: key } = answer.body;
      return { id, key, http: withKey(key) };
    },
    async newProject(name = named('project')) {
      const answer = await withKey(keys.operator).post('/v1/projects').send({ name }).expect(201);
      const { api_key: key } = answer.body;
      const me = await withKey(key).get('/v1/me').expect(200);
      return { id: me.body.agent.id, key, http: withKey(key) };
    },
    async close() {
      await app.close();
      await database.drop();
    },
  };
}
