import type { Queryable } from './db/statement.js';
import { inTransaction, withLock } from './db/transaction.js';
import { ROLES, serverActor } from './kernel/actor.js';
import type { Log } from './kernel/log.js';
import { ok } from './kernel/refusal.js';
import type { RequestContext } from './kernel/request.js';
import type { KeysFile } from './keys-file.js';
import { findAgentId, newKeyFor } from './modules/agents/index.js';
import {
  type AdministerDeps,
  administer,
  databaseNow,
  loadDefaultProject,
} from './modules/projects/index.js';
import { DEFAULT_PROJECT_NAME } from './modules/projects/types.js';
import { provision } from './provision.js';

/** Any number, the same in every process: one of them at a time makes the default project. */
const BOOT_LOCK = '6402273150884917';

/** What the first start needs. */
export interface BootDeps extends AdministerDeps {
  readonly databaseUrl: string;
  readonly log: Log;
  /** Whether a key is one of this database, revoked or not. */
  readonly isKnownKey: (token: string) => Promise<boolean>;
}

/** The agents of the default project: one for each role, named by it. */
const AGENTS = ROLES.map((role) => ({ name: role, roles: [role] }));

function bootRequest(newId: () => string): RequestContext {
  const id = newId();
  return { requestId: `boot-${id}`, traceId: id.replaceAll('-', '') };
}

/** Makes the default project if there is none; answers its keys, or null when it was there. */
export async function createDefaultProject(
  deps: AdministerDeps,
): Promise<ReadonlyMap<string, string> | null> {
  const { pool, newId, clock } = deps;
  if ((await loadDefaultProject(pool)) !== null) return null;
  const made = await inTransaction(pool, async (tx) => {
    const now = await databaseNow(tx, clock.offsetMs());
    const start = {
      name: DEFAULT_PROJECT_NAME,
      isDefault: true,
      agents: AGENTS,
      now,
      request: bootRequest(newId),
    };
    return ok(await provision(tx, newId, start));
  });
  if (!made.ok) throw new Error('a refusal that nothing here makes');
  return made.value.keys;
}

/**
 * Sees to it that the default project is there, and that the file has a key for each of its agents. A key that is not in the
 * file, or that this database does not know, is made anew: the start that should have written it may have been killed, or the
 * file is lost. No key is revoked by that. The lock lasts until the file is written, so that starts at the same time agree.
 */
export async function bootstrap(deps: BootDeps, file: KeysFile): Promise<void> {
  await withLock(deps.databaseUrl, BOOT_LOCK, async () => {
    const first = await createDefaultProject(deps);
    if (first !== null) {
      await file.putKeys(first);
      deps.log.info({ path: file.path }, 'made the default project, and wrote the keys of its agents');
      return;
    }
    const written = await file.keys(ROLES);
    const missing: string[] = [];
    for (const role of ROLES) {
      const key = written.get(role);
      if (key === undefined || !(await deps.isKnownKey(key))) missing.push(role);
    }
    if (missing.length === 0) return;
    await file.putKeys(await newKeys(deps, missing));
    deps.log.warn(
      { path: file.path, agents: missing },
      'keys.env had no key of these agents: wrote new ones. The older keys go on working; revoke those that are lost.',
    );
  });
}

async function newKeys(deps: BootDeps, names: readonly string[]): Promise<Map<string, string>> {
  const project = await loadDefaultProject(deps.pool);
  if (project === null) throw new Error('the default project is gone');
  const by = { actor: serverActor(project.id), request: bootRequest(deps.newId), idempotency: null };
  const keys = new Map<string, string>();
  await administer(deps, by, async (tx, now) => {
    const events = [];
    for (const name of names) {
      const agentId = await agentOf(tx, project.id, name);
      const made = await newKeyFor(tx, by.actor, agentId, now);
      events.push(...made.events);
      keys.set(name, made.secret.api_key);
    }
    return ok({ events, answer: {} });
  });
  return keys;
}

async function agentOf(tx: Queryable, projectId: string, name: string): Promise<string> {
  const id = await findAgentId(tx, projectId, name);
  if (id === null) throw new Error(`the default project has no agent ${name}`);
  return id;
}
