import type { Queryable } from '../../db/statement.js';
import { rowsOf } from '../../db/statement.js';
import type { Actor } from '../../kernel/actor.js';
import { toWire } from '../../kernel/ids.js';
import type { Json, JsonObject } from '../../kernel/json.js';
import { type Page, type PageRequest, toPage } from '../../kernel/page.js';
import { ok, type Result, refuse } from '../../kernel/refusal.js';
import type { RequestContext } from '../../kernel/request.js';
import { type AdministerDeps, type Administered, administer, type By, factBy } from './administer.js';
import { changedPolicies, type PolicyChanges, policiesToWire } from './policies.js';
import { findProjectId, forgetOldAnswers, listProjects, loadProject, writeProject } from './store.js';
import type { Project } from './types.js';

/** What a project must know of limits, told by the room that owns them. */
export interface LimitBook {
  /** Stored limits after a change; null lifts an optional one, and gives any other back to the server. */
  readonly change: (stored: JsonObject, changes: JsonObject) => JsonObject;
  /** The limits that the project sets itself, on the wire. */
  readonly own: (stored: JsonObject) => JsonObject;
  /** The limits in force where no task or run sets its own, on the wire. */
  readonly inForce: (stored: JsonObject) => JsonObject;
}

/** Makes a project with what it cannot do without, and answers its operator's key. */
export type Found = (
  tx: Queryable,
  by: { readonly name: string; readonly now: number; readonly request: RequestContext },
) => Promise<{ readonly project: Project; readonly apiKey: string }>;

/** What the projects room needs. */
export interface ProjectsDeps extends AdministerDeps {
  readonly limits: LimitBook;
  readonly found: Found;
}

/** What a PATCH changes. Null gives a setting back to the server. */
export interface ProjectChanges {
  readonly limits: JsonObject;
  readonly policies: PolicyChanges;
}

const ONLY_DEFAULT =
  'Only the operator of the default project, who runs this server, may make and list projects. Your key is of another project.';

/** Few enough that a delete never holds its rows for long. */
const FORGOTTEN_AT_ONCE = 1_000;

/** The projects room: each caller's own project, and for who runs the server all of them. */
export class Projects {
  constructor(private readonly deps: ProjectsDeps) {}

  /** The project of the caller. */
  async current(actor: Actor): Promise<{ readonly body: JsonObject; readonly version: number }> {
    const project = await this.ofActor(this.deps.pool, actor);
    return { body: this.toWire(project), version: project.version };
  }

  /** Changes limits and policies, if the project is still at the version that the caller has read. */
  update(by: By, changes: ProjectChanges, version: number | null): Promise<Result<Administered>> {
    return administer(this.deps, by, async (tx, now) => {
      const before = await this.ofActor(tx, by.actor);
      if (version !== null && version !== before.version) return stale(before.version);
      const limits = this.deps.limits.change(before.limits, changes.limits);
      const policies = changedPolicies(before.policies, changes.policies);
      if (same(limits, before.limits) && same({ ...policies }, { ...before.policies })) {
        return ok({ events: [], answer: this.toWire(before), version: before.version });
      }
      const after = { ...before, limits, policies, version: before.version + 1 };
      await rowsOf(tx, writeProject(after, now));
      const data = { limits: this.deps.limits.own(limits), policies: policiesToWire(policies) };
      const event = factBy(by.actor, 'project.updated', 'update_project', data);
      return ok({ events: [event], answer: this.toWire(after), version: after.version });
    });
  }

  /** Makes a project with an operator and a default run. The key of the operator is told once. */
  create(by: By, name: string): Promise<Result<Administered>> {
    return administer(this.deps, by, async (tx, now) => {
      if (!(await this.ofActor(tx, by.actor)).isDefault)
        return refuse('forbidden_role', ONLY_DEFAULT, { retryable: false });
      const taken = await findProjectId(tx, name);
      if (taken !== null) {
        return refuse('duplicate', 'There is a project of this name already. Choose another name.', {
          facts: { id: toWire('project', taken) },
        });
      }
      const { project, apiKey } = await this.deps.found(tx, { name, now, request: by.request });
      const data = { project_id: toWire('project', project.id), name };
      return ok({
        events: [factBy(by.actor, 'project.created', 'create_project', data)],
        answer: this.toWire(project),
        secret: { api_key: apiKey },
        version: project.version,
      });
    });
  }

  /** All projects of the server. */
  async list(actor: Actor, page: PageRequest): Promise<Result<Page<JsonObject>>> {
    const { pool } = this.deps;
    if (!(await this.ofActor(pool, actor)).isDefault)
      return refuse('forbidden_role', ONLY_DEFAULT, { retryable: false });
    const { data, nextCursor } = toPage(await listProjects(pool, page), page.limit, (project) => project.id);
    return ok({ data: data.map((project) => this.toWire(project)), nextCursor });
  }

  /** Forgets the answers that were kept for retries and are too old to be asked for. */
  async tidy(): Promise<void> {
    while ((await forgetOldAnswers(this.deps.pool, FORGOTTEN_AT_ONCE)) === FORGOTTEN_AT_ONCE);
  }

  private async ofActor(db: Queryable, actor: Actor): Promise<Project> {
    const project = await loadProject(db, actor.projectId);
    if (project === null) throw new Error(`project ${actor.projectId} is not there`);
    return project;
  }

  private toWire(project: Project): JsonObject {
    const { limits } = this.deps;
    return {
      id: toWire('project', project.id),
      name: project.name,
      limits: limits.own(project.limits),
      effective_limits: limits.inForce(project.limits),
      policies: policiesToWire(project.policies),
      version: project.version,
      created_at: new Date(project.createdAt).toISOString(),
    };
  }
}

function stale(current: number): Result<never> {
  return refuse(
    'stale_version',
    `The project has been changed since you read it: it is at version ${current}. Read it again, and send the change with its new ETag.`,
    { facts: { version: current }, nextActions: [{ call: 'get_project' }] },
  );
}

function same(one: JsonObject, other: JsonObject): boolean {
  const sorted = (object: JsonObject): [string, Json | undefined][] =>
    Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}
