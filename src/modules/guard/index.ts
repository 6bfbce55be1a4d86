export type { ServerLimits } from './limits.js';
export { guardPlugin } from './plugin.js';
export { projectLimitChanges, projectLimits } from './project-limits.js';
export { writeTrips } from './store.js';
