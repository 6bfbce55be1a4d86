export { newRun } from './decide.js';
export { runsRoutes } from './routes.js';
export { newRunIn, runOut, runStartIn } from './schema.js';
export { Runs } from './service.js';
export { loadLiveRuns, loadRuns, writeRuns } from './store.js';
export { RUN_COMMAND_TYPES } from './transitions.js';
