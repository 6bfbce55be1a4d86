import type { PrismaClient } from '../../db/prisma.js';
import { type Queryable, rowsOf, type Statement } from '../../db/statement.js';
import type { Actor, Role } from '../../kernel/actor.js';
import type { NewEvent } from '../../kernel/event.js';
import { type NewId, toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import { type Page, type PageRequest, toPage } from '../../kernel/page.js';
import { ok, type Result, refuse } from '../../kernel/refusal.js';
import {
  type AdministerDeps,
  type Administered,
  administer,
  type By,
  factBy,
  loadProject,
} from '../projects/index.js';
import { KeyCache } from './key-cache.js';
import { hashOf, keyIdOf, newKey } from './keys.js';
import { Presence } from './presence.js';
import {
  agentExists,
  findAgentId,
  findKeyOwner,
  insertAgents,
  insertKeys,
  listAgents,
  liveKeys,
  markSeen,
  revokeKey,
} from './store.js';
import type { Agent } from './types.js';
import { agentToWire } from './wire.js';

/** What the agents room needs. */
export interface AgentsDeps extends AdministerDeps {
  readonly prisma: PrismaClient;
}

/** The agents room: who may call, and with which key. */
export class Agents {
  private readonly keys: KeyCache;
  private readonly presence: Presence;

  constructor(private readonly deps: AgentsDeps) {
    const { pool, clock } = deps;
    this.keys = new KeyCache({
      find: (keyId) => findKeyOwner(pool, keyId),
      live: (keyIds) => liveKeys(pool, keyIds),
    });
    this.presence = new Presence(
      (seen) => markSeen(pool, seen, clock.offsetMs()),
      () => performance.now() + clock.offsetMs(),
    );
  }

  /** The agent of a key, without a promise while the key is in use. Rejects when the database must be asked and is away. */
  authenticate(token: string): Actor | null | Promise<Actor | null> {
    const found = this.keys.find(token);
    return found instanceof Promise ? found.then((actor) => this.greet(actor)) : this.greet(found);
  }

  /** Whether the key that an actor came with is still in force: for what lasts longer than a request. */
  async isWelcome(actor: Actor): Promise<boolean> {
    const { keyId } = actor;
    return keyId !== undefined && (await liveKeys(this.deps.pool, [keyId])).has(keyId);
  }

  /** Whether a key is one of this database, revoked or not. */
  async isKnownKey(token: string): Promise<boolean> {
    const keyId = keyIdOf(token);
    const owner = keyId === null ? null : await findKeyOwner(this.deps.pool, keyId);
    return owner?.hash.equals(hashOf(token)) ?? false;
  }

  /** Resolves when what was noted of agents seen so far is written. */
  settled(): Promise<void> {
    return this.presence.settled();
  }

  /** The caller itself. */
  async me(actor: Actor): Promise<JsonObject> {
    const project = await loadProject(this.deps.pool, actor.projectId);
    if (project === null || actor.agentId === null) throw new Error('a caller without a project or an id');
    return {
      project: { id: toWire('project', project.id), name: project.name },
      agent: { id: toWire('agent', actor.agentId), name: actor.name },
      roles: [...actor.roles],
      key_id: actor.keyId ?? null,
    };
  }

  /** The agents of a project, oldest first. */
  async list(projectId: string, page: PageRequest): Promise<Page<JsonObject>> {
    const rows = await listAgents(this.deps.prisma, projectId, page);
    const { data, nextCursor } = toPage(rows, page.limit, (agent) => agent.id);
    return { data: data.map(agentToWire), nextCursor };
  }

  /** Adds an agent with a first key, which is told once. */
  create(
    by: By,
    wanted: { readonly name: string; readonly roles: readonly Role[] },
  ): Promise<Result<Administered>> {
    const { projectId } = by.actor;
    return administer(this.deps, by, async (tx, now) => {
      const taken = await findAgentId(tx, projectId, wanted.name);
      if (taken !== null) {
        return refuse(
          'duplicate',
          'There is an agent of this name already. Choose another name, or give that one a key.',
          {
            facts: { id: toWire('agent', taken) },
          },
        );
      }
      const [found] = foundAgents(by.actor, [wanted], { newId: this.deps.newId, now }, 'create_agent');
      if (found === undefined) throw new Error('an agent was asked for and not made');
      for (const statement of found.statements) await rowsOf(tx, statement);
      return ok({
        events: found.events,
        answer: agentToWire(found.agent),
        secret: { api_key: found.apiKey },
      });
    });
  }

  /** Gives an agent one more key, told once. Its older keys go on working, so that keys can be changed without a gap. */
  createKey(by: By, agentId: string): Promise<Result<Administered>> {
    return administer(this.deps, by, async (tx, now) => {
      if (!(await agentExists(tx, by.actor.projectId, agentId))) return noAgent();
      return ok(await newKeyFor(tx, by.actor, agentId, now));
    });
  }

  /** Revokes a key, in this process at once. A key that is already revoked stays so: that is what was asked for. */
  async revokeKey(by: By, agentId: string, keyId: string): Promise<Result<Administered>> {
    const result = await administer(this.deps, by, async (tx, now) => {
      const revoked = await revokeKey(tx, { projectId: by.actor.projectId, agentId, id: keyId }, now);
      if (revoked === null)
        return refuse('not_found', 'This agent has no such key. See its keys at GET /v1/agents.');
      const data = { agent_id: toWire('agent', agentId), key_id: keyId };
      const events = revoked.changed ? [factBy(by.actor, 'key.revoked', 'revoke_agent_key', data)] : [];
      return ok({ events, answer: data });
    });
    if (result.ok) this.keys.forget(keyId);
    return result;
  }

  private greet(actor: Actor | null): Actor | null {
    if (actor !== null && actor.agentId !== null)
      this.presence.saw({ projectId: actor.projectId, agentId: actor.agentId });
    return actor;
  }
}

function noAgent(): Result<never> {
  return refuse('not_found', 'There is no such agent in your project. See them at GET /v1/agents.', {
    nextActions: [{ call: 'list_agents' }],
  });
}

/** An agent as it begins: what to write, what to tell, and its key. */
export interface FoundAgent {
  readonly agent: Agent;
  readonly statements: readonly Statement[];
  readonly events: readonly NewEvent[];
  readonly apiKey: string;
}

/** Agents as they begin, each with a key. */
export function foundAgents(
  by: Actor,
  wanted: readonly { readonly name: string; readonly roles: readonly Role[] }[],
  { newId, now }: { readonly newId: NewId; readonly now: number },
  command: string,
): FoundAgent[] {
  const { projectId } = by;
  return wanted.map(({ name, roles }) => {
    const key = newKey();
    const agent: Agent = {
      id: newId(),
      projectId,
      name,
      roles,
      lastSeenAt: null,
      createdAt: now,
      keys: [{ id: key.id, createdAt: now, revokedAt: null }],
    };
    const id = toWire('agent', agent.id);
    return {
      agent,
      statements: [
        insertAgents(projectId, [agent]),
        insertKeys(projectId, [{ id: key.id, agentId: agent.id, hash: key.hash, createdAt: now }]),
      ],
      events: [
        factBy(by, 'agent.created', command, { agent_id: id, name, roles: [...roles] }),
        factBy(by, 'key.created', command, { agent_id: id, key_id: key.id }),
      ],
      apiKey: key.token,
    };
  });
}

/** Writes a new key of an agent and answers it as a change. */
export async function newKeyFor(
  tx: Queryable,
  by: Actor,
  agentId: string,
  now: number,
): Promise<{ events: NewEvent[]; answer: JsonObject; secret: { api_key: string } }> {
  const key = newKey();
  await rowsOf(tx, insertKeys(by.projectId, [{ id: key.id, agentId, hash: key.hash, createdAt: now }]));
  const data = { agent_id: toWire('agent', agentId), key_id: key.id };
  return {
    events: [factBy(by, 'key.created', 'create_agent_key', data)],
    answer: { id: key.id, created_at: new Date(now).toISOString() },
    secret: { api_key: key.token },
  };
}
