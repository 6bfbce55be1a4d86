import {
  jsons,
  overColumns,
  plain,
  type Queryable,
  rowsOf,
  type Statement,
  texts,
  timestamp,
} from '../../db/statement.js';
import type { ActingRole } from '../../kernel/actor.js';
import type { EventType } from '../../kernel/event.js';
import type { JsonObject } from '../../kernel/json.js';
import type { CommittedEvent, EventFilter } from './types.js';

const APPEND = overColumns(
  'events_append',
  [
    ['position', 'bigint'],
    ['id', 'uuid'],
    ['type', 'text'],
    ['at', 'timestamptz'],
    ['task_id', 'uuid'],
    ['number', 'int'],
    ['run_id', 'uuid'],
    ['agent_id', 'uuid'],
    ['role', 'text'],
    ['command', 'text'],
    ['from_state', 'text'],
    ['to_state', 'text'],
    ['reason', 'text'],
    ['request_id', 'text'],
    ['trace_id', 'text'],
    ['counters', 'json'],
    ['data', 'json'],
  ],
  (
    rows,
  ) => `INSERT INTO events (project_id, position, id, type, at, task_id, number, run_id, agent_id, role, command, from_state, to_state,
        reason, request_id, trace_id, counters, data)
      SELECT $1, u.position, u.id, u.type, u.at, u.task_id, u.number, u.run_id, u.agent_id, u.role, u.command, u.from_state, u.to_state,
        u.reason, u.request_id, u.trace_id, nullif(u.counters, 'null'), u.data
      FROM ${rows}`,
);

/** Appends events to a project's log. Their positions follow the last one that the same commit advanced the project from. */
export function appendEvents(projectId: string, events: readonly CommittedEvent[]): Statement {
  return {
    ...APPEND(events.length),
    values: [
      projectId,
      plain(events, (e) => e.position),
      plain(events, (e) => e.id),
      plain(events, (e) => e.event.type),
      plain(events, (e) => timestamp(e.at)),
      plain(events, (e) => e.event.taskId),
      plain(events, (e) => e.event.number),
      plain(events, (e) => e.event.runId),
      plain(events, (e) => e.event.agentId),
      plain(events, (e) => e.event.role),
      plain(events, (e) => e.event.command),
      plain(events, (e) => e.event.from),
      plain(events, (e) => e.event.to),
      texts(events, (e) => e.event.reason),
      texts(events, (e) => e.request.requestId),
      plain(events, (e) => e.request.traceId),
      jsons(events, (e) => e.event.counters),
      jsons(events, (e) => e.event.data),
    ],
  };
}

interface EventRow {
  id: string;
  position: number;
  type: EventType;
  at: Date;
  task_id: string | null;
  number: number | null;
  run_id: string | null;
  agent_id: string | null;
  role: ActingRole;
  command: string;
  from_state: string | null;
  to_state: string | null;
  counters: JsonObject | null;
  reason: string | null;
  request_id: string;
  trace_id: string;
  data: JsonObject;
}

const COLUMNS = `id, position, type, at, task_id, number, run_id, agent_id, role, command, from_state, to_state, counters, reason,
  request_id, trace_id, data`;

function eventOf(row: EventRow): CommittedEvent {
  return {
    id: row.id,
    position: row.position,
    at: row.at.getTime(),
    request: { requestId: row.request_id, traceId: row.trace_id },
    event: {
      type: row.type,
      taskId: row.task_id,
      number: row.number,
      runId: row.run_id,
      agentId: row.agent_id,
      role: row.role,
      command: row.command,
      from: row.from_state,
      to: row.to_state,
      counters: row.counters,
      reason: row.reason,
      data: row.data,
    },
  };
}

/**
 * Events after a position, in order, with one more than asked when there are more. Positions are given out by the commit that
 * writes the event, so nothing can appear later below a position that was already read.
 */
export async function readEvents(
  db: Queryable,
  projectId: string,
  filter: EventFilter,
  page: { readonly after: number; readonly limit: number },
): Promise<CommittedEvent[]> {
  const values: unknown[] = [projectId, page.after, page.limit + 1];
  const conditions = ['project_id = $1', 'position > $2'];
  const add = (value: unknown, condition: (parameter: string) => string): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  add(filter.types, (p) => `type = ANY(${p}::text[])`);
  add(filter.taskId, (p) => `task_id = ${p}::uuid`);
  add(filter.agentId, (p) => `agent_id = ${p}::uuid`);
  // A task's numbers rise with its positions, and only they are indexed by task.
  const order = filter.taskId === undefined ? 'position' : 'number';
  const rows = await rowsOf<EventRow>(db, {
    name: `events_page_${Object.keys(filter).sort().join('_')}`,
    text: `SELECT ${COLUMNS} FROM events WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT $3`,
    values,
  });
  return rows.map(eventOf);
}

/** The position of the last event of each of these projects. */
export async function lastPositions(
  db: Queryable,
  projectIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await rowsOf<{ id: string; position: number }>(db, {
    name: 'events_last_positions',
    text: 'SELECT id, position FROM projects WHERE id = ANY($1::uuid[])',
    values: [projectIds],
  });
  return new Map(rows.map((row) => [row.id, row.position]));
}

/** The event at a position. */
export async function eventIdAt(db: Queryable, projectId: string, position: number): Promise<string | null> {
  const [row] = await rowsOf<{ id: string }>(db, {
    name: 'events_at',
    text: 'SELECT id FROM events WHERE project_id = $1 AND position = $2',
    values: [projectId, position],
  });
  return row?.id ?? null;
}
