import type { Pool } from '../../db/statement.js';
import type { Actor } from '../../kernel/actor.js';
import type { Answer } from '../../kernel/answer.js';
import type { Clock } from '../../kernel/clock.js';
import type { JsonObject } from '../../kernel/json.js';
import type { Idempotency, RequestContext } from '../../kernel/request.js';
import { loadRoster } from '../agents/index.js';
import { loadHead } from '../projects/index.js';
import { closedBreaker } from './breaker.js';
import { loadBreakers } from './store.js';
import type { BreakerCommand } from './types.js';
import { breakerToWire } from './wire.js';

/** A command on a breaker, and who sends it by which request. */
export interface BreakerRequest {
  readonly actor: Actor;
  readonly command: BreakerCommand;
  readonly idempotency: Idempotency | null;
  readonly request: RequestContext;
}

/** What the guard room needs. */
export interface BreakersDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  /** The pipeline, by which breakers change together with what they guard. */
  readonly send: (request: BreakerRequest) => Promise<Answer>;
}

/** The breakers above tasks: the fleet's and each agent's. */
export class Breakers {
  constructor(private readonly deps: BreakersDeps) {}

  /** Sends a command; the answer is complete, and what it changed durable. */
  send(request: BreakerRequest): Promise<Answer> {
    return this.deps.send(request);
  }

  /** Every breaker of a project as it stands now, the fleet's first. One that never opened is closed. */
  async list(projectId: string): Promise<JsonObject[]> {
    const { pool, clock } = this.deps;
    const [head, known, roster] = await Promise.all([
      loadHead(pool, projectId, clock.offsetMs(), false),
      loadBreakers(pool, projectId),
      loadRoster(pool, projectId),
    ]);
    const now = head?.now ?? 0;
    const byId = new Map(known.map((breaker) => [breaker.id, breaker]));
    const all = [{ id: projectId, agentId: null }, ...roster.map(({ id }) => ({ id, agentId: id }))];
    return all.map(({ id, agentId }) => breakerToWire(byId.get(id) ?? closedBreaker(id, agentId, now), now));
  }
}
