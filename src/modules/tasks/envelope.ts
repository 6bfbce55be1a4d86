import type { Actor } from '../../kernel/actor.js';
import type { Idempotency, RequestContext } from '../../kernel/request.js';
import type { KeptAnswer } from '../projects/index.js';
import type { AnyCommand } from './types.js';

/** A command on its way through: who sends it, and who waits for the answer. */
export interface Envelope {
  readonly actor: Actor;
  readonly command: AnyCommand;
  readonly idempotency: Idempotency | null;
  readonly request: RequestContext;
  /** The trip that the command is to recover: told beside the task or run, and kept with the answer. */
  readonly tripId?: string;
}

/** What others want to know of a commit. */
export interface Committed {
  readonly projectId: string;
  readonly events: number;
  /** How many of the tasks written may be claimed now. */
  readonly offered: number;
  /** The earliest time, in milliseconds since the epoch by the database's clock, at which a task written is due. */
  readonly dueAt: number | null;
  /** That clock's time when the commit was made, not when it was decided. */
  readonly now: number;
}

/** The name under which an answer is kept. */
export function keptId({ agentId, route, key }: Pick<KeptAnswer, 'agentId' | 'route' | 'key'>): string {
  return `${agentId}|${route}|${key}`;
}
