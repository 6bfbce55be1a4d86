export { eventsRoutes } from './routes.js';
export { eventListOut } from './schema.js';
export { type EventPage, Events } from './service.js';
export { appendEvents } from './store.js';
export type { CommittedEvent, EventFilter } from './types.js';
export { eventToWire } from './wire.js';
