import { plain, type Queryable, rowsOf, type Statement, texts, timestamp } from '../../db/statement.js';
import type { JsonObject } from '../../kernel/json.js';
import type { Project, ProjectPolicies } from './types.js';

/** Where a project's log stands, and the database's time. */
export interface Head {
  readonly revision: number;
  readonly position: number;
  /** Milliseconds since the epoch by the database's clock, plus the tests' offset. */
  readonly now: number;
}

/** Reads a project's head. With `lock` nobody else's commit comes between this read and the own commit. */
export async function loadHead(
  db: Queryable,
  projectId: string,
  offsetMs: number,
  lock: boolean,
): Promise<Head | null> {
  const rows = await rowsOf<Head>(db, {
    name: lock ? 'projects_head_locked' : 'projects_head',
    text: `SELECT revision, position, (extract(epoch FROM clock_timestamp()) * 1000)::float8 + $2 AS now FROM projects WHERE id = $1${lock ? ' FOR UPDATE' : ''}`,
    values: [projectId, offsetMs],
  });
  const [head] = rows;
  return head === undefined ? null : { ...head, now: Math.floor(head.now) };
}

/** The database's time in milliseconds since the epoch, plus the tests' offset. */
export async function databaseNow(db: Queryable, offsetMs: number): Promise<number> {
  const [row] = await rowsOf<{ now: number }>(db, {
    name: 'projects_now',
    text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    values: [],
  });
  if (row === undefined) throw new Error('the database told no time');
  return Math.floor(row.now + offsetMs);
}

/** What decisions need of a project. */
export async function loadRules(
  db: Queryable,
  projectId: string,
): Promise<{ limits: JsonObject; policies: ProjectPolicies }> {
  const rows = await rowsOf<{ limits: JsonObject; policies: ProjectPolicies }>(db, {
    name: 'projects_rules',
    text: 'SELECT limits, policies FROM projects WHERE id = $1',
    values: [projectId],
  });
  return rows[0] ?? { limits: {}, policies: {} };
}

interface ProjectRow {
  id: string;
  name: string;
  is_default: boolean;
  limits: JsonObject;
  policies: ProjectPolicies;
  version: number;
  created_at: Date;
}

const COLUMNS = 'id, name, is_default, limits, policies, version, created_at';

function projectOf(row: ProjectRow): Project {
  return {
    id: row.id,
    name: row.name,
    isDefault: row.is_default,
    limits: row.limits,
    policies: row.policies,
    version: row.version,
    createdAt: row.created_at.getTime(),
  };
}

/** A project by its id. */
export async function loadProject(db: Queryable, projectId: string): Promise<Project | null> {
  const [row] = await rowsOf<ProjectRow>(db, {
    name: 'projects_one',
    text: `SELECT ${COLUMNS} FROM projects WHERE id = $1`,
    values: [projectId],
  });
  return row === undefined ? null : projectOf(row);
}

/** The default project, once the first start has made it. */
export async function loadDefaultProject(db: Queryable): Promise<Project | null> {
  const [row] = await rowsOf<ProjectRow>(db, {
    name: 'projects_default',
    text: `SELECT ${COLUMNS} FROM projects WHERE is_default`,
    values: [],
  });
  return row === undefined ? null : projectOf(row);
}

/** The id of the project of that name. */
export async function findProjectId(db: Queryable, name: string): Promise<string | null> {
  const [row] = await rowsOf<{ id: string }>(db, {
    name: 'projects_named',
    text: 'SELECT id FROM projects WHERE name = $1',
    values: [name],
  });
  return row?.id ?? null;
}

/** A page of all projects, oldest first, with one more than asked when there are more. */
export async function listProjects(
  db: Queryable,
  page: { readonly limit: number; readonly after: string | null },
): Promise<Project[]> {
  const rows = await rowsOf<ProjectRow>(db, {
    name: 'projects_page',
    text: `SELECT ${COLUMNS} FROM projects WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2`,
    values: [page.after, page.limit + 1],
  });
  return rows.map(projectOf);
}

/** A project as it begins. Its log starts with the given number of events, written in the same transaction. */
export function insertProject(project: Project, events: number): Statement {
  return {
    name: 'projects_insert',
    text: `INSERT INTO projects (id, name, is_default, limits, policies, revision, position, version, created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $8)`,
    values: [
      project.id,
      project.name,
      project.isDefault,
      JSON.stringify(project.limits),
      JSON.stringify(project.policies),
      events,
      project.version,
      timestamp(project.createdAt),
    ],
  };
}

/** Writes what may change of a project. */
export function writeProject(project: Project, now: number): Statement {
  return {
    name: 'projects_write',
    text: 'UPDATE projects SET limits = $2, policies = $3, version = $4, updated_at = $5 WHERE id = $1',
    values: [
      project.id,
      JSON.stringify(project.limits),
      JSON.stringify(project.policies),
      project.version,
      timestamp(now),
    ],
  };
}

/** Moves a project from the revision its batch was decided at; any other revision makes the whole transaction fail. */
export function advance(projectId: string, revision: number, events: number): Statement {
  return {
    name: 'projects_advance',
    text: 'SELECT advance_project($1, $2, $3) AS now',
    values: [projectId, revision, events],
  };
}

/** The SQLSTATE with which `advance` refuses. */
export const MOVED_ON = 'FB001';

/** An answer kept for whoever sends the same command with the same key again. */
export interface KeptAnswer {
  readonly agentId: string;
  readonly route: string;
  readonly key: string;
  readonly requestHash: string;
  readonly kind: 'done' | 'created';
  readonly answer: string;
}

/** The kept answers for some keys, by agent, route and key. */
export async function loadKeptAnswers(
  db: Queryable,
  projectId: string,
  wanted: readonly Pick<KeptAnswer, 'agentId' | 'route' | 'key'>[],
): Promise<KeptAnswer[]> {
  return rowsOf<KeptAnswer & Record<string, unknown>>(db, {
    name: 'idempotency_wanted',
    text: `SELECT k.agent_id AS "agentId", k.route, k.key, k.request_hash AS "requestHash", k.kind, k.answer
      FROM unnest($2::uuid[], $3::text[], $4::text[]) AS w(agent_id, route, key)
      CROSS JOIN LATERAL (SELECT * FROM idempotency_keys
        WHERE project_id = $1 AND agent_id = w.agent_id AND route = w.route AND idempotency_keys.key = w.key
          AND created_at > clock_timestamp() - interval '72 hours' OFFSET 0) k`,
    values: [
      projectId,
      plain(wanted, (w) => w.agentId),
      texts(wanted, (w) => w.route),
      texts(wanted, (w) => w.key),
    ],
  });
}

/** Keeps answers. A key older than its 72 hours is given anew. */
export function keepAnswers(projectId: string, answers: readonly KeptAnswer[], now: number): Statement {
  return {
    name: 'idempotency_keep',
    text: `INSERT INTO idempotency_keys (project_id, agent_id, route, key, request_hash, kind, answer, created_at)
      SELECT $1, u.*, $8 FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) AS u
      ON CONFLICT (project_id, agent_id, route, key) DO UPDATE SET request_hash = excluded.request_hash, kind = excluded.kind,
        answer = excluded.answer, created_at = excluded.created_at`,
    values: [
      projectId,
      plain(answers, (a) => a.agentId),
      texts(answers, (a) => a.route),
      texts(answers, (a) => a.key),
      texts(answers, (a) => a.requestHash),
      texts(answers, (a) => a.kind),
      texts(answers, (a) => a.answer),
      timestamp(now),
    ],
  };
}

/** Forgets answers past their 72 hours, a bounded number at a time; answers how many. */
export async function forgetOldAnswers(db: Queryable, limit: number): Promise<number> {
  const rows = await rowsOf(db, {
    name: 'idempotency_forget',
    text: `DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(SELECT ctid FROM idempotency_keys
        WHERE created_at < clock_timestamp() - interval '72 hours' ORDER BY created_at LIMIT $1)) RETURNING 1 AS forgotten`,
    values: [limit],
  });
  return rows.length;
}
