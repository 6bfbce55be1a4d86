export { agentsRoutes } from './routes.js';
export { Agents, type AgentsDeps, foundAgents, newKeyFor } from './service.js';
export { findAgentId, loadRoster } from './store.js';
