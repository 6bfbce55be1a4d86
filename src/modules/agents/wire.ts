import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import type { Agent, AgentKey } from './types.js';

function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** A key on the wire: its public part only. */
export function keyToWire(key: AgentKey): JsonObject {
  return { id: key.id, created_at: time(key.createdAt), revoked_at: time(key.revokedAt) };
}

/** An agent on the wire. */
export function agentToWire(agent: Agent): JsonObject {
  return {
    id: toWire('agent', agent.id),
    project_id: toWire('project', agent.projectId),
    name: agent.name,
    roles: [...agent.roles],
    last_seen_at: time(agent.lastSeenAt),
    created_at: time(agent.createdAt),
    keys: agent.keys.map(keyToWire),
  };
}
