/** What an agent may be. The order is the order in which roles are listed to users. */
export const ROLES = ['planner', 'executor', 'reviewer', 'manager', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** Who sends a command: an agent known by its key, or the server itself (expiry, recovery). */
export interface Actor {
  readonly projectId: string;
  /** Null for the server. */
  readonly agentId: string | null;
  readonly name: string;
  readonly roles: readonly Role[];
  /** The public part of the key that the request carried. */
  readonly keyId?: string;
}

/** The role written on an event: the one by which the actor was allowed, or the server. */
export type ActingRole = Role | 'server';

/** The server as an actor of one project. */
export function serverActor(projectId: string): Actor {
  return { projectId, agentId: null, name: 'server', roles: [] };
}

/**
 * The role by which an actor may do what `allowed` lists, or null when none of its roles is enough.
 * An operator may do what a planner and a reviewer may (domain: Roles).
 */
export function roleFor(actor: Actor, allowed: readonly Role[]): Role | null {
  for (const role of allowed) if (actor.roles.includes(role)) return role;
  const standsIn = allowed.includes('planner') || allowed.includes('reviewer');
  return standsIn && actor.roles.includes('operator') ? 'operator' : null;
}
