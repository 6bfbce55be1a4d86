import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import type { CommittedEvent } from './types.js';

/** An event on the wire. */
export function eventToWire({ event, id, position, at, request }: CommittedEvent): JsonObject {
  return {
    id: toWire('event', id),
    position,
    type: event.type,
    at: new Date(at).toISOString(),
    task_id: event.taskId === null ? null : toWire('task', event.taskId),
    number: event.number,
    run_id: event.runId === null ? null : toWire('run', event.runId),
    actor: { agent_id: event.agentId === null ? null : toWire('agent', event.agentId), role: event.role },
    command: event.command,
    from: event.from,
    to: event.to,
    counters: event.counters,
    reason: event.reason,
    request_id: request.requestId,
    trace_id: request.traceId,
    data: event.data,
  };
}
