export { agentsRoutes } from './routes.js';
export { Agents, foundAgents, newKeyFor } from './service.js';
export { findAgentId, loadRoster } from './store.js';
