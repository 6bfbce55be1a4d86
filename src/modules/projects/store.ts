import { column, type Queryable, rowsOf, type Statement, timestamp } from '../../db/statement.js';
import type { OwnLimits } from '../guard/types.js';

/** Where a project's log stands, and the database's time. */
export interface Head {
  readonly revision: number;
  readonly position: number;
  /** Milliseconds since the epoch by the database's clock, plus the tests' offset. */
  readonly now: number;
}

/** Reads a project's head. With `lock` nobody else's commit comes between this read and the own commit. */
export async function loadHead(db: Queryable, projectId: string, offsetMs: number, lock: boolean): Promise<Head | null> {
  const rows = await rowsOf<Head>(db, {
    name: lock ? 'projects_head_locked' : 'projects_head',
    text: `SELECT revision, position, (extract(epoch FROM clock_timestamp()) * 1000)::float8 + $2 AS now FROM projects WHERE id = $1${lock ? ' FOR UPDATE' : ''}`,
    values: [projectId, offsetMs],
  });
  const [head] = rows;
  return head === undefined ? null : { ...head, now: Math.floor(head.now) };
}

/** What decisions need of a project. */
export async function loadRules(db: Queryable, projectId: string): Promise<{ limits: OwnLimits; policies: ProjectPolicies }> {
  const rows = await rowsOf<{ limits: OwnLimits; policies: ProjectPolicies }>(db, {
    name: 'projects_rules',
    text: 'SELECT limits, policies FROM projects WHERE id = $1',
    values: [projectId],
  });
  return rows[0] ?? { limits: {}, policies: {} };
}

/** What a project decides differently from the server. */
export interface ProjectPolicies {
  readonly cooldownSeconds?: number;
}

/** Moves a project from the revision its batch was decided at; any other revision makes the whole transaction fail. */
export function advance(projectId: string, revision: number, events: number): Statement {
  return { name: 'projects_advance', text: 'SELECT advance_project($1, $2, $3)', values: [projectId, revision, events] };
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
      JOIN idempotency_keys k ON k.project_id = $1 AND k.agent_id = w.agent_id AND k.route = w.route AND k.key = w.key
      WHERE k.created_at > clock_timestamp() - interval '72 hours'`,
    values: [projectId, column(wanted, (w) => w.agentId), column(wanted, (w) => w.route), column(wanted, (w) => w.key)],
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
      column(answers, (a) => a.agentId),
      column(answers, (a) => a.route),
      column(answers, (a) => a.key),
      column(answers, (a) => a.requestHash),
      column(answers, (a) => a.kind),
      column(answers, (a) => a.answer),
      timestamp(now),
    ],
  };
}

/** Forgets answers past their 72 hours, a bounded number at a time. */
export async function forgetOldAnswers(db: Queryable, limit: number): Promise<void> {
  await rowsOf(db, {
    name: 'idempotency_forget',
    text: `DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM idempotency_keys WHERE created_at < clock_timestamp() - interval '72 hours' ORDER BY created_at LIMIT $1))`,
    values: [limit],
  });
}
