export { newRun } from './decide.js';
export { listRuns, loadLiveRuns, loadRuns, writeRuns } from './store.js';
