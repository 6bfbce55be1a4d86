export { listRuns, loadLiveRuns, loadRuns, writeRuns } from './store.js';
