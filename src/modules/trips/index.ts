export { tripsRoutes } from './routes.js';
export { Trips } from './service.js';
export { Simulator } from './simulator.js';
