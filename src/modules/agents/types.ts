import type { Role } from '../../kernel/actor.js';

/** A key as its agent's operator sees it: never the key itself. Times in milliseconds since the epoch. */
export interface AgentKey {
  readonly id: string;
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

/** A caller with a name and roles. */
export interface Agent {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly roles: readonly Role[];
  readonly lastSeenAt: number | null;
  readonly createdAt: number;
  /** Oldest first, revoked ones included. */
  readonly keys: readonly AgentKey[];
}
