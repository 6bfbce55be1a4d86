import type { Config } from './config.js';
import { Notifier } from './db/notifier.js';
import type { PrismaClient } from './db/prisma.js';
import type { Pool } from './db/statement.js';
import type { Log } from './http/index.js';
import type { Clock } from './kernel/clock.js';
import type { NewId } from './kernel/ids.js';
import { Agents } from './modules/agents/index.js';
import { Events } from './modules/events/index.js';
import { Breakers, projectLimits, type ServerLimits } from './modules/guard/index.js';
import { toMicros } from './modules/guard/wire.js';
import { Health } from './modules/health/index.js';
import { type AdministerDeps, type Found, Projects } from './modules/projects/index.js';
import { Runs } from './modules/runs/index.js';
import { createTasks, type Tasks } from './modules/tasks/index.js';
import { Simulator, Trips } from './modules/trips/index.js';
import { provision } from './provision.js';

/** What comes from outside: everything that a test replaces. */
export interface Foundations {
  readonly config: Config;
  readonly log: Log;
  readonly databaseUrl: string;
  readonly pool: Pool;
  readonly prisma: PrismaClient;
  readonly clock: Clock;
  readonly newId: NewId;
}

/** The rooms, put together. */
export interface Deps extends Foundations {
  readonly administration: AdministerDeps;
  readonly events: Events;
  readonly projects: Projects;
  readonly agents: Agents;
  readonly breakers: Breakers;
  readonly runs: Runs;
  readonly tasks: Tasks;
  readonly trips: Trips;
  readonly simulator: Simulator;
  readonly health: Health;
  readonly notifier: Notifier;
}

/** Makes every room of what it needs, in their order. Connects to nothing and starts nothing. */
export function createDeps(foundations: Foundations): Deps {
  const { config, log, pool, prisma, clock, newId } = foundations;
  const limits = serverLimits(config.limits);
  const events = new Events({ pool });
  const onCommit = (projectId: string): void => events.onCommit(projectId);
  const administration = { pool, clock, newId, onCommit };
  const projects = new Projects({
    ...administration,
    limits: projectLimits(limits),
    found: foundProject(newId),
  });
  const agents = new Agents({ ...administration, prisma });
  const notifier = new Notifier({
    databaseUrl: foundations.databaseUrl,
    log: log.logger,
    onHeard(projectId) {
      tasks.heard(projectId);
      events.onCommit(projectId);
    },
  });
  const tasks = createTasks({
    pool,
    clock,
    newId,
    limits,
    policies: config.policies,
    batchMax: config.batchMax,
    log: log.logger,
    onCommit(commit) {
      onCommit(commit.projectId);
      if (commit.offered > 0) notifier.announce(commit.projectId);
    },
  });
  const breakers = new Breakers({ pool, clock, send: (request) => tasks.send(request) });
  const runs = new Runs({ pool, limits, send: (request) => tasks.send(request) });
  const trips = new Trips({ pool, clock, send: (command) => tasks.send(command) });
  const simulator = new Simulator({ pool, limits });
  const health = new Health({ databaseUrl: foundations.databaseUrl, clock });
  return {
    ...foundations,
    administration,
    events,
    projects,
    agents,
    breakers,
    runs,
    tasks,
    trips,
    simulator,
    health,
    notifier,
  };
}

/** A project that an operator asks for begins with an operator of its own, who adds the others. */
function foundProject(newId: NewId): Found {
  return async (tx, { name, now, request }) => {
    const agents = [{ name: 'operator', roles: ['operator'] as const }];
    const { project, keys } = await provision(tx, newId, { name, isDefault: false, agents, now, request });
    const apiKey = keys.get('operator');
    if (apiKey === undefined) throw new Error('a project was made without an operator');
    return { project, apiKey };
  };
}

function serverLimits(limits: Config['limits']): ServerLimits {
  const { maxCostUsd, maxRunCostUsd, ...others } = limits;
  return {
    ...others,
    maxCostMicros: maxCostUsd === null ? null : toMicros(maxCostUsd),
    maxRunCostMicros: maxRunCostUsd === null ? null : toMicros(maxRunCostUsd),
  };
}
