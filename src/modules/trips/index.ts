export { tripsRoutes } from './routes.js';
export { Trips, type TripsDeps } from './service.js';
export { Simulator } from './simulator.js';
