export { appendEvents, type CommittedEvent } from './store.js';
