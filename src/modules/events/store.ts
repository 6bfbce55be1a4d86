import { column, json, type Statement, timestamp } from '../../db/statement.js';
import type { NewEvent } from '../../kernel/event.js';
import type { RequestContext } from '../../kernel/request.js';

/** An event as the commit completes it. */
export interface CommittedEvent {
  readonly event: NewEvent;
  readonly id: string;
  readonly position: number;
  readonly at: number;
  readonly request: RequestContext;
}

/** Appends events to a project's log. Their positions follow the last one that the same commit advanced the project from. */
export function appendEvents(projectId: string, events: readonly CommittedEvent[]): Statement {
  return {
    name: 'events_append',
    text: `INSERT INTO events (project_id, position, id, type, at, task_id, number, run_id, agent_id, role, command, from_state, to_state,
        counters, reason, request_id, trace_id, data)
      SELECT $1, * FROM unnest($2::bigint[], $3::uuid[], $4::text[], $5::timestamptz[], $6::uuid[], $7::int[], $8::uuid[], $9::uuid[],
        $10::text[], $11::text[], $12::text[], $13::text[], $14::jsonb[], $15::text[], $16::text[], $17::text[], $18::jsonb[])`,
    values: [
      projectId,
      column(events, (e) => e.position),
      column(events, (e) => e.id),
      column(events, (e) => e.event.type),
      column(events, (e) => timestamp(e.at)),
      column(events, (e) => e.event.taskId),
      column(events, (e) => e.event.number),
      column(events, (e) => e.event.runId),
      column(events, (e) => e.event.agentId),
      column(events, (e) => e.event.role),
      column(events, (e) => e.event.command),
      column(events, (e) => e.event.from),
      column(events, (e) => e.event.to),
      column(events, (e) => (e.event.counters === null ? null : json(e.event.counters))),
      column(events, (e) => e.event.reason),
      column(events, (e) => e.request.requestId),
      column(events, (e) => e.request.traceId),
      column(events, (e) => json(e.event.data)),
    ],
  };
}
