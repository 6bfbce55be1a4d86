export { newRun } from './decide.js';
export { runsRoutes } from './routes.js';
export { runOut } from './schema.js';
export { type RunRequest, Runs, type RunsDeps } from './service.js';
export { listRuns, loadLiveRuns, loadRuns, writeRuns } from './store.js';
export { RUN_COMMAND_TYPES } from './transitions.js';
