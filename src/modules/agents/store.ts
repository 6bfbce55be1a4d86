import type { PrismaClient } from '../../db/prisma.js';
import { plain, type Queryable, rowsOf, type Statement, texts, timestamp } from '../../db/statement.js';
import { type Actor, ROLES, type Role } from '../../kernel/actor.js';
import type { Agent } from './types.js';

/** An agent as decisions about hands need it. */
export interface RosterRow {
  readonly id: string;
  readonly name: string;
  readonly isExecutor: boolean;
  readonly isReviewer: boolean;
  readonly lastSeenAt: number | null;
}

/** The agents of a project. */
export async function loadRoster(db: Queryable, projectId: string): Promise<RosterRow[]> {
  return rowsOf<RosterRow & Record<string, unknown>>(db, {
    name: 'agents_roster',
    text: `SELECT id, name, 'executor' = ANY(roles) AS "isExecutor", 'reviewer' = ANY(roles) AS "isReviewer",
        floor(extract(epoch FROM last_seen_at) * 1000)::bigint AS "lastSeenAt" FROM agents WHERE project_id = $1`,
    values: [projectId],
  });
}

function rolesOf(stored: readonly string[]): Role[] {
  return ROLES.filter((role) => stored.includes(role));
}

interface AgentRow {
  id: string;
  projectId: string;
  name: string;
  roles: string[];
  lastSeenAt: Date | null;
  createdAt: Date;
  keys: { id: string; createdAt: Date; revokedAt: Date | null }[];
}

function agentOf(row: AgentRow): Agent {
  return {
    id: row.id,
    projectId: row.projectId,
    name: row.name,
    roles: rolesOf(row.roles),
    lastSeenAt: row.lastSeenAt?.getTime() ?? null,
    createdAt: row.createdAt.getTime(),
    keys: row.keys.map((key) => ({
      id: key.id,
      createdAt: key.createdAt.getTime(),
      revokedAt: key.revokedAt?.getTime() ?? null,
    })),
  };
}

/** A page of a project's agents, oldest first, with one more than asked when there are more. */
export async function listAgents(
  prisma: PrismaClient,
  projectId: string,
  page: { readonly limit: number; readonly after: string | null },
): Promise<Agent[]> {
  const rows = await prisma.agent.findMany({
    where: { projectId, ...(page.after === null ? {} : { id: { gt: page.after } }) },
    orderBy: { id: 'asc' },
    take: page.limit + 1,
    include: { keys: { orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] } },
  });
  return rows.map(agentOf);
}

/** The id of the project's agent of that name. */
export async function findAgentId(db: Queryable, projectId: string, name: string): Promise<string | null> {
  const [row] = await rowsOf<{ id: string }>(db, {
    name: 'agents_named',
    text: 'SELECT id FROM agents WHERE project_id = $1 AND name = $2',
    values: [projectId, name],
  });
  return row?.id ?? null;
}

/** Whether the project has an agent of that id. */
export async function agentExists(db: Queryable, projectId: string, agentId: string): Promise<boolean> {
  const rows = await rowsOf(db, {
    name: 'agents_exists',
    text: 'SELECT 1 FROM agents WHERE project_id = $1 AND id = $2',
    values: [projectId, agentId],
  });
  return rows.length > 0;
}

/** Adds agents, yet without keys. */
export function insertAgents(projectId: string, agents: readonly Agent[]): Statement {
  return {
    name: 'agents_insert',
    text: `INSERT INTO agents (project_id, id, name, roles, created_at)
      SELECT $1, u.id, u.name, ARRAY(SELECT jsonb_array_elements_text(u.roles)), u.created_at
      FROM unnest($2::uuid[], $3::text[], $4::jsonb[], $5::timestamptz[]) AS u(id, name, roles, created_at)`,
    values: [
      projectId,
      plain(agents, (a) => a.id),
      texts(agents, (a) => a.name),
      texts(agents, (a) => JSON.stringify(a.roles)),
      plain(agents, (a) => timestamp(a.createdAt)),
    ],
  };
}

/** A key as it is stored. */
export interface StoredKey {
  readonly id: string;
  readonly agentId: string;
  readonly hash: Buffer;
  readonly createdAt: number;
}

/** Adds keys. */
export function insertKeys(projectId: string, keys: readonly StoredKey[]): Statement {
  return {
    name: 'api_keys_insert',
    text: `INSERT INTO api_keys (id, project_id, agent_id, hash, created_at)
      SELECT u.id, $1, u.agent_id, decode(u.hash, 'hex'), u.created_at
      FROM unnest($2::text[], $3::uuid[], $4::text[], $5::timestamptz[]) AS u(id, agent_id, hash, created_at)`,
    values: [
      projectId,
      plain(keys, (k) => k.id),
      plain(keys, (k) => k.agentId),
      plain(keys, (k) => k.hash.toString('hex')),
      plain(keys, (k) => timestamp(k.createdAt)),
    ],
  };
}

/** Revokes a key; answers null when there is none of that id, and whether this call did it. */
export async function revokeKey(
  db: Queryable,
  key: { readonly projectId: string; readonly agentId: string; readonly id: string },
  now: number,
): Promise<{ readonly changed: boolean } | null> {
  const rows = await rowsOf<{ changed: boolean }>(db, {
    name: 'api_keys_revoke',
    text: `WITH found AS (SELECT id, revoked_at FROM api_keys WHERE id = $3 AND project_id = $1 AND agent_id = $2),
        done AS (UPDATE api_keys k SET revoked_at = $4 FROM found WHERE k.id = found.id AND k.revoked_at IS NULL RETURNING k.id)
      SELECT EXISTS (SELECT 1 FROM done) AS changed FROM found`,
    values: [key.projectId, key.agentId, key.id, timestamp(now)],
  });
  return rows[0] ?? null;
}

/** A key with the agent it stands for. */
export interface KeyOwner {
  readonly hash: Buffer;
  readonly isRevoked: boolean;
  readonly actor: Actor;
}

/** The owner of a key by the key's public id. The only read that does not know its project yet. */
export async function findKeyOwner(db: Queryable, keyId: string): Promise<KeyOwner | null> {
  const [row] = await rowsOf<{
    hash: Buffer;
    is_revoked: boolean;
    project_id: string;
    agent_id: string;
    name: string;
    roles: string[];
  }>(db, {
    name: 'api_keys_owner',
    text: `SELECT k.hash, k.revoked_at IS NOT NULL AS is_revoked, a.project_id, a.id AS agent_id, a.name, a.roles
      FROM api_keys k JOIN agents a ON a.project_id = k.project_id AND a.id = k.agent_id WHERE k.id = $1`,
    values: [keyId],
  });
  if (row === undefined) return null;
  const { project_id: projectId, agent_id: agentId, name, roles } = row;
  return {
    hash: row.hash,
    isRevoked: row.is_revoked,
    actor: { projectId, agentId, name, roles: rolesOf(roles), keyId },
  };
}

/** Which of these keys are in force. */
export async function liveKeys(db: Queryable, keyIds: readonly string[]): Promise<Set<string>> {
  const rows = await rowsOf<{ id: string }>(db, {
    name: 'api_keys_live',
    text: 'SELECT id FROM api_keys WHERE id = ANY($1::text[]) AND revoked_at IS NULL',
    values: [keyIds],
  });
  return new Set(rows.map((row) => row.id));
}

/** Notes that agents were seen now. Another process may just have done it: a minute's notes are one write. */
export async function markSeen(
  db: Queryable,
  agents: readonly { readonly projectId: string; readonly agentId: string }[],
  offsetMs: number,
): Promise<void> {
  await rowsOf(db, {
    name: 'agents_seen',
    text: `UPDATE agents a SET last_seen_at = t.now
      FROM unnest($1::uuid[], $2::uuid[]) AS u(project_id, id),
        (SELECT clock_timestamp() + make_interval(secs => $3::float8 / 1000) AS now) t
      WHERE a.project_id = u.project_id AND a.id = u.id
        AND (a.last_seen_at IS NULL OR a.last_seen_at < t.now - interval '55 seconds')`,
    values: [plain(agents, (a) => a.projectId), plain(agents, (a) => a.agentId), offsetMs],
  });
}
