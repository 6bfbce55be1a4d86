import { Tasks, type TasksDeps } from './service.js';

/** Makes the tasks room. Call `start` once the database is migrated. */
export function createTasks(deps: TasksDeps): Tasks {
  return new Tasks(deps);
}

export { createPlan } from './commands.js';
export { taskAnswer } from './response.js';
export { tasksRoutes } from './routes.js';
export { newPlan } from './schema.js';
export type { Tasks, TasksDeps } from './service.js';
export { COMMAND_TYPES } from './transitions.js';
