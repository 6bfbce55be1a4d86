import type { FastifyInstance } from 'fastify';
import type { NewId } from '../../kernel/ids.js';
import type { Events } from '../events/index.js';
import { claimRoutes, type StillWelcome } from './routes/claim.js';
import { commandRoutes } from './routes/commands.js';
import { createRoutes } from './routes/create.js';
import { historyRoutes } from './routes/history.js';
import { readRoutes } from './routes/read.js';
import type { Tasks } from './service.js';

/** The routes of the tasks room. */
export function tasksRoutes(
  app: FastifyInstance,
  tasks: Tasks,
  events: Events,
  newId: NewId,
  isWelcome: StillWelcome,
): void {
  createRoutes(app, tasks, newId);
  claimRoutes(app, tasks, isWelcome);
  commandRoutes(app, tasks);
  readRoutes(app, tasks);
  historyRoutes(app, tasks, events);
}
