export type { ServerLimits } from './limits.js';
export { guardPlugin } from './plugin.js';
export { projectLimitChanges, projectLimits } from './project-limits.js';
export { guardVerdict, layerReading, trip } from './response.js';
export { guardRoutes } from './routes.js';
export { limitsIn, runLimits, taskLimits } from './schema.js';
export { Breakers } from './service.js';
export { loadBreakers, writeBreakers, writeTrips } from './store.js';
export { BREAKER_COMMAND_TYPES } from './types.js';
