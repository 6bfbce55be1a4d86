import { readFile } from 'node:fs/promises';
import fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { loadConfig } from './config.js';
import { createPool } from './db/pool.js';
import { createPrisma } from './db/prisma.js';
import { createDeps, type Deps } from './deps.js';
import { drainConnections } from './http/drain.js';
import type { Readiness } from './http/health.js';
import { createLog, registerHttp, serverOptions } from './http/index.js';
import { databaseClock } from './kernel/clock.js';
import { newId } from './kernel/ids.js';
import { agentsRoutes } from './modules/agents/index.js';
import { eventsRoutes } from './modules/events/index.js';
import {
  BREAKER_COMMAND_TYPES,
  guardPlugin,
  guardRoutes,
  projectLimitChanges,
} from './modules/guard/index.js';
import { healthRoutes } from './modules/health/index.js';
import { projectsRoutes } from './modules/projects/index.js';
import { RUN_COMMAND_TYPES, runsRoutes } from './modules/runs/index.js';
import { COMMAND_TYPES, tasksRoutes } from './modules/tasks/index.js';
import { tripsRoutes } from './modules/trips/index.js';

type ApiDescription = ReturnType<FastifyInstance['apiDescription']>;

/** Builds the whole HTTP service, and never listens. `ready` is asked by `/readyz`. */
export async function buildApp(
  deps: Deps,
  ready: () => Readiness | Promise<Readiness>,
): Promise<FastifyInstance> {
  const { config, log, agents, events, projects, tasks } = deps;
  const app = fastify(serverOptions({ logger: log.logger, trustProxy: config.trustProxy ?? [] }));
  await registerHttp(app, {
    authenticate: (token) => agents.authenticate(token),
    ready,
    limits: {
      requestsPerMinute: config.rateLimitPerMinute,
      createdTasksPerMinute: config.createLimitPerMinute,
    },
    version: await ownVersion(),
  });
  await app.register(guardPlugin, {
    commands: new Set<string>([...BREAKER_COMMAND_TYPES, ...RUN_COMMAND_TYPES, ...COMMAND_TYPES]),
  });
  eventsRoutes(app, events, (actor) => agents.isWelcome(actor));
  projectsRoutes(app, projects, projectLimitChanges);
  agentsRoutes(app, agents);
  guardRoutes(app, deps.breakers);
  runsRoutes(app, deps.runs, deps.newId);
  tasksRoutes(app, tasks, events, deps.newId, (actor) => agents.isWelcome(actor));
  tripsRoutes(app, deps.trips, deps.simulator, deps.newId);
  healthRoutes(app, deps.health);
  drainConnections(app);
  // Who waits is answered first; only then can the connections end.
  app.addHook('preClose', async () => {
    events.close();
    await tasks.close();
  });
  app.addHook('onClose', () => agents.settled());
  return app;
}

/** The description of the API, made without a database. */
export async function describeApi(): Promise<ApiDescription> {
  const config = loadConfig({ DATABASE_URL: 'postgres://localhost/never-connected', LOG_LEVEL: 'silent' });
  const log = createLog(config.logLevel);
  const settings = { databaseUrl: config.databaseUrl ?? '', poolSize: 1, statementTimeoutMs: 1000 };
  const pool = createPool(settings, log.logger);
  const deps = createDeps({
    config,
    log,
    databaseUrl: settings.databaseUrl,
    pool,
    prisma: createPrisma(pool),
    clock: databaseClock,
    newId,
  });
  const app = await buildApp(deps, () => ({ ok: true, reasons: [] }));
  try {
    await app.ready();
    return app.apiDescription();
  } finally {
    await app.close();
    await pool.end();
    log.close();
  }
}

async function ownVersion(): Promise<string> {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}
