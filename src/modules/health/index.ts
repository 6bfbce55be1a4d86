export { healthRoutes } from './routes.js';
export { Health } from './service.js';
export { checkProject } from './store.js';
