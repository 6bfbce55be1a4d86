import { type Queryable, rowsOf, timestamp } from '../../../db/statement.js';
import { type TaskRow, taskOf } from '../rows.js';
import { TASK_COLUMNS } from '../store.js';
import type { ClaimPurpose, Task } from '../types.js';
import type { Place } from '../windows.js';

/** What part of which queue is read. */
export interface QueueSlice {
  readonly purpose: ClaimPurpose;
  readonly runIds: readonly string[];
  readonly labels: readonly string[];
  /** Only what this agent may have; null: what is there for everybody. */
  readonly agentId: string | null;
  /** Behind this place; null: from the beginning. */
  readonly after: Place | null;
  readonly limit: number;
}

/** Before every place that a task can have in a queue. */
const BEGINNING: Place = { rank: -1, readyAt: 0, id: '00000000-0000-0000-0000-000000000000' };

/** The next tasks in claim order of some runs, for work or for review. */
export async function loadQueue(db: Queryable, projectId: string, slice: QueueSlice): Promise<Task[]> {
  const { purpose, runIds, labels, agentId, limit, after } = slice;
  const { rank, readyAt, id } = after ?? BEGINNING;
  const values = [projectId, runIds, purpose, labels, limit, rank, timestamp(readyAt), id];
  const rows = await rowsOf<TaskRow>(db, {
    name: agentId === null ? 'tasks_queue' : `tasks_queue_${purpose}_of_agent`,
    text: agentId === null ? EVERYBODYS : AN_AGENTS[purpose],
    values: agentId === null ? values : [...values, agentId],
  });
  return rows.map(taskOf);
}

const ORDER = 'rank, ready_at, id';
const DEEPER = 16;

/**
 * Merges the queues of all runs without reading each as far as the limit, which for many runs is most of the board. `heads` are
 * the runs whose first task may be among those wanted. As many first tasks as are wanted, or the sixteenth tasks of a sixteenth
 * as many runs, end at a place that the last one wanted cannot be behind: no run is read beyond the nearer of them, the `bound`.
 */
function merged(condition: string): string {
  const queueOf = (run: string) =>
    `project_id = $1 AND run_id = ${run} AND queue = $3 AND labels @> $4::text[] ${condition}`;
  const fromHead = `${queueOf('h.run_id')} AND (${ORDER}) >= (h.rank, h.ready_at, h.id)`;
  return `WITH heads AS MATERIALIZED (
      SELECT r.run_id, h.* FROM unnest($2::uuid[]) AS r(run_id)
      CROSS JOIN LATERAL (SELECT ${ORDER} FROM tasks
        WHERE ${queueOf('r.run_id')} AND (${ORDER}) > ($6::smallint, $7::timestamptz, $8::uuid) ORDER BY ${ORDER} LIMIT 1) h
      ORDER BY ${ORDER} LIMIT $5
    ), deeper AS MATERIALIZED (
      SELECT d.* FROM heads h
      CROSS JOIN LATERAL (SELECT ${ORDER} FROM tasks WHERE ${fromHead} ORDER BY ${ORDER} OFFSET ${DEEPER - 1} LIMIT 1) d
    ), bound AS MATERIALIZED (
      SELECT * FROM (
        (SELECT ${ORDER} FROM heads ORDER BY ${ORDER} OFFSET $5 - 1 LIMIT 1)
        UNION ALL (SELECT ${ORDER} FROM deeper ORDER BY ${ORDER} OFFSET ($5 + ${DEEPER - 1}) / ${DEEPER} - 1 LIMIT 1)
        UNION ALL SELECT 32767::smallint, 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff'
      ) ends ORDER BY ${ORDER} LIMIT 1
    )
    SELECT q.* FROM heads h CROSS JOIN bound b CROSS JOIN LATERAL (SELECT ${TASK_COLUMNS}, rank FROM tasks
      WHERE ${fromHead} AND (${ORDER}) <= (b.rank, b.ready_at, b.id) ORDER BY ${ORDER} LIMIT $5) q
    ORDER BY q.rank, q.ready_at, q.id LIMIT $5`;
}

const EVERYBODYS = merged('');

/** What one agent may have, as `isKeptFrom` says it of a task. */
const AN_AGENTS: Readonly<Record<ClaimPurpose, string>> = {
  work: merged(`AND NOT memory->'excluded' ? $9::text AND coalesce(memory->>'assigned' = $9::text, true)`),
  review: merged(`AND NOT memory->'workers' ? $9::text`),
};
