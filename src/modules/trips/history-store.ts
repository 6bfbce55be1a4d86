import { plain, type Queryable, rowsOf, timestamp } from '../../db/statement.js';
import type { JsonObject } from '../../kernel/json.js';
import type { ReplayEvent } from './decide/replay.js';
import type { AttemptFacts, LogEntry } from './types.js';

/** How many attempts of a task a diagnosis looks back at. */
export const ATTEMPTS_LOOKED_AT = 100;

interface AttemptFactsRow {
  task_id: string;
  before: Date;
  number: number;
  agent_id: string;
  claimed_at: Date;
  ended_at: Date | null;
  outcome: AttemptFacts['outcome'];
  result_hash: string | null;
  error: AttemptFacts['error'];
  usage: AttemptFacts['usage'];
  verdict: AttemptFacts['verdict'];
}

/** Which attempts: those of a task that were claimed before a moment, as they stood then. */
export interface AttemptsBefore {
  readonly taskId: string;
  readonly before: number;
}

/** The last attempts of each, first to last, in the order asked. A verdict that came later is left out. */
export async function loadAttemptFacts(
  db: Queryable,
  projectId: string,
  wanted: readonly AttemptsBefore[],
): Promise<AttemptFacts[][]> {
  const rows = await rowsOf<AttemptFactsRow & { nth: number }>(db, {
    name: 'trips_attempts',
    text: `SELECT w.nth::int AS nth, w.before, a.*
      FROM unnest($2::uuid[], $3::timestamptz[]) WITH ORDINALITY AS w(task_id, before, nth)
      CROSS JOIN LATERAL (SELECT task_id, number, agent_id, claimed_at, ended_at, outcome, result_hash, error - 'detail' AS error, usage, verdict
        FROM attempts WHERE project_id = $1 AND task_id = w.task_id AND claimed_at < w.before ORDER BY number DESC LIMIT $4) a`,
    values: [
      projectId,
      plain(wanted, (w) => w.taskId),
      plain(wanted, (w) => timestamp(w.before)),
      ATTEMPTS_LOOKED_AT,
    ],
  });
  const found: AttemptFacts[][] = wanted.map(() => []);
  for (const row of rows) found[row.nth - 1]?.push(factsOf(row));
  return found.map((attempts) => attempts.sort((a, b) => a.number - b.number));
}

function factsOf(row: AttemptFactsRow): AttemptFacts {
  const before = row.before.getTime();
  return {
    number: row.number,
    agentId: row.agent_id,
    claimedAt: row.claimed_at.getTime(),
    endedAt: row.ended_at?.getTime() ?? null,
    outcome: row.outcome,
    resultHash: row.result_hash,
    error: row.error,
    usage: row.usage,
    verdict: row.verdict === null || row.verdict.at >= before ? null : row.verdict,
  };
}

/** The names of agents. */
export async function agentNames(
  db: Queryable,
  projectId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await rowsOf<{ id: string; name: string }>(db, {
    name: 'trips_agent_names',
    text: 'SELECT id, name FROM agents WHERE project_id = $1 AND id = ANY($2::uuid[])',
    values: [projectId, ids],
  });
  return new Map(rows.map((row) => [row.id, row.name]));
}

interface LogRow {
  position: number;
  type: string;
  at: Date;
  agent_id: string | null;
  role: string;
  task_id: string | null;
  to_state: string | null;
  reason: string | null;
  data: JsonObject;
}

const LOG_COLUMNS = `position, type, at, agent_id, role, task_id, to_state, reason, data - '{guard,layers}'::text[] AS data`;

function entryOf(row: LogRow): LogEntry {
  return {
    position: row.position,
    type: row.type,
    at: row.at.getTime(),
    agentId: row.agent_id,
    role: row.role,
    taskId: row.task_id,
    to: row.to_state,
    reason: row.reason,
    data: row.data,
  };
}

/** The last events of a task up to a moment, first to last; and how many came before them. */
export async function taskLog(
  db: Queryable,
  projectId: string,
  taskId: string,
  until: number,
  limit: number,
): Promise<{ readonly entries: LogEntry[]; readonly earlier: number }> {
  const rows = await rowsOf<LogRow & { number: number }>(db, {
    name: 'trips_task_log',
    text: `SELECT number, ${LOG_COLUMNS} FROM events WHERE project_id = $1 AND task_id = $2 AND number IS NOT NULL AND at <= $3
      ORDER BY number DESC LIMIT $4`,
    values: [projectId, taskId, timestamp(until), limit],
  });
  rows.reverse();
  return { entries: rows.map(entryOf), earlier: (rows[0]?.number ?? 1) - 1 };
}

/** The last events of a run up to a moment, first to last, of those among the last `lookBack` events of the project then. */
export async function runLog(
  db: Queryable,
  projectId: string,
  runId: string,
  until: number,
  bounds: { readonly limit: number; readonly lookBack: number },
): Promise<LogEntry[]> {
  const upTo = await positionAt(db, projectId, until);
  const rows = await rowsOf<LogRow>(db, {
    name: 'trips_run_log',
    // The places first: what events say is read only of those that are shown.
    text: `SELECT e.* FROM (SELECT position FROM events WHERE project_id = $1 AND position <= $3 AND position > $4 AND run_id = $2
        ORDER BY position DESC LIMIT $5) p
      CROSS JOIN LATERAL (SELECT ${LOG_COLUMNS} FROM events WHERE project_id = $1 AND position = p.position OFFSET 0) e
      ORDER BY e.position DESC`,
    values: [projectId, runId, upTo, upTo - bounds.lookBack, bounds.limit],
  });
  return rows.map(entryOf).reverse();
}

/**
 * The position of the last event up to a moment; 0 before the first. The log's times rise with its positions, which have no
 * gaps, so the place is found by halving.
 */
export async function positionAt(db: Queryable, projectId: string, at: number): Promise<number> {
  const [row] = await rowsOf<{ position: number }>(db, {
    name: 'trips_position_at',
    text: `WITH RECURSIVE search(low, high) AS (
        SELECT 0::bigint, position FROM projects WHERE id = $1
        UNION ALL
        SELECT CASE WHEN e.at <= $2 THEN m.middle ELSE s.low END, CASE WHEN e.at <= $2 THEN s.high ELSE m.middle - 1 END
        FROM search s
        CROSS JOIN LATERAL (SELECT (s.low + s.high + 1) / 2 AS middle) m
        CROSS JOIN LATERAL (SELECT at FROM events WHERE project_id = $1 AND position = m.middle OFFSET 0) e
        WHERE s.low < s.high
      )
      SELECT low AS position FROM search WHERE low >= high`,
    values: [projectId, timestamp(at)],
  });
  return row?.position ?? 0;
}

interface ReplayRow {
  position: number;
  type: string;
  at: Date;
  task_id: string | null;
  run_id: string | null;
  agent_id: string | null;
  command: string;
  to_state: string | null;
  counters: JsonObject | null;
  data: JsonObject;
}

/** The position of the last event of a project. */
export async function lastPosition(db: Queryable, projectId: string): Promise<number> {
  const [row] = await rowsOf<{ position: number }>(db, {
    name: 'trips_last_position',
    text: 'SELECT position FROM projects WHERE id = $1',
    values: [projectId],
  });
  return row?.position ?? 0;
}

/** A stretch of a project's log, in order, without what no replay reads. */
export async function replayPage(
  db: Queryable,
  projectId: string,
  after: number,
  upTo: number,
): Promise<ReplayEvent[]> {
  const rows = await rowsOf<ReplayRow>(db, {
    name: 'trips_replay_page',
    text: `SELECT position, type, at, task_id, run_id, agent_id, command, to_state, counters,
        data - '{guard,layers,findings,title}'::text[] AS data
      FROM events WHERE project_id = $1 AND position > $2 AND position <= $3 ORDER BY position`,
    values: [projectId, after, upTo],
  });
  return rows.map((row) => ({
    type: row.type,
    at: row.at.getTime(),
    taskId: row.task_id,
    runId: row.run_id,
    agentId: row.agent_id,
    command: row.command,
    to: row.to_state,
    counters: row.counters,
    data: row.data,
  }));
}
