export type { ServerLimits } from './limits.js';
export { guardPlugin } from './plugin.js';
export { projectLimitChanges, projectLimits } from './project-limits.js';
export { limitsIn, runLimits, taskLimits } from './schema.js';
export { writeTrips } from './store.js';
