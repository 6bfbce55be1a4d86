import type { ActingRole } from './actor.js';
import type { JsonObject } from './json.js';

/** Every fact the log can hold, `noun.past`. */
export const EVENT_TYPES = [
  'project.created',
  'project.updated',
  'agent.created',
  'key.created',
  'key.revoked',
  'run.created',
  'run.updated',
  'run.closed',
  'run.tripped',
  'run.recovered',
  'task.created',
  'task.updated',
  'task.claimed',
  'task.review_claimed',
  'task.usage_reported',
  'task.submitted',
  'task.failed',
  'task.released',
  'task.lease_expired',
  'task.review_released',
  'task.review_expired',
  'task.review_failed',
  'task.approved',
  'task.rework_requested',
  'task.blocked',
  'task.unblocked',
  'task.cancelled',
  'task.late_result',
  'guard.warned',
  'guard.refused',
  'breaker.opened',
  'breaker.probed',
  'breaker.closed',
  'breaker.isolated',
  'task.auto_recovered',
  'trip.opened',
  'trip.escalated',
  'trip.resolved',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/**
 * A fact as the core states it. The commit adds what only it knows: position, time, request and trace.
 * An event of a task carries that task's next number; one of a project or run carries none.
 */
export interface NewEvent {
  readonly type: EventType;
  readonly taskId: string | null;
  /** 1, 2, 3 … without gaps within one task; null when the event is not of a task. */
  readonly number: number | null;
  readonly runId: string | null;
  readonly agentId: string | null;
  readonly role: ActingRole;
  readonly command: string;
  readonly from: string | null;
  readonly to: string | null;
  /** The counters after the change. */
  readonly counters: JsonObject | null;
  readonly reason: string | null;
  readonly data: JsonObject;
}
