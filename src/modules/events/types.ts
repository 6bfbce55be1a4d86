import type { NewEvent } from '../../kernel/event.js';
import type { RequestContext } from '../../kernel/request.js';

/** An event as the commit completes it. Times in milliseconds since the epoch. */
export interface CommittedEvent {
  readonly event: NewEvent;
  readonly id: string;
  readonly position: number;
  readonly at: number;
  readonly request: RequestContext;
}

/** Which events a reader wants; absent means all. */
export interface EventFilter {
  readonly types?: readonly string[];
  readonly taskId?: string;
  readonly agentId?: string;
}

/** What one event tells of a commit whose fate is unknown: it stands at its place, or the commit was not made. */
export interface CommitMark {
  readonly projectId: string;
  readonly position: number;
  readonly eventId: string | null;
}
