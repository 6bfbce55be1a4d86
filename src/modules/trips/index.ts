export { tripsRoutes } from './routes.js';
export { Trips, type TripsDeps } from './service.js';
