export { committed } from './committed.js';
export { eventsRoutes } from './routes.js';
export { eventListOut } from './schema.js';
export { Events } from './service.js';
export { appendEvents } from './store.js';
export type { CommitMark, CommittedEvent } from './types.js';
export { eventToWire } from './wire.js';
