export { writeTrips } from './store.js';
