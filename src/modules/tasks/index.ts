import { Tasks, type TasksDeps } from './service.js';

/** Makes the tasks room. Call `start` once the database is migrated. */
export function createTasks(deps: TasksDeps): Tasks {
  return new Tasks(deps);
}

export type { Committed } from './envelope.js';
export { tasksRoutes } from './routes.js';
export type { Tasks, TasksDeps } from './service.js';
export { COMMAND_TYPES } from './transitions.js';
