import { type Pool, type Queryable, rowsOf } from '../../db/statement.js';
import { inTransaction } from '../../db/transaction.js';
import { type Actor, roleFor } from '../../kernel/actor.js';
import { versionIn } from '../../kernel/answer.js';
import type { Clock } from '../../kernel/clock.js';
import type { EventType, NewEvent } from '../../kernel/event.js';
import type { NewId } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import { ok, type Result, refuse } from '../../kernel/refusal.js';
import type { Idempotency, RequestContext } from '../../kernel/request.js';
import { appendEvents, type CommitMark, committed } from '../events/index.js';
import { advance, keepAnswers, loadHead, loadKeptAnswers } from './store.js';

/** What administrative changes are made with. */
export interface AdministerDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Told after each commit, for streams. */
  readonly onCommit: (projectId: string) => void;
}

/** Who changes something, and by which request. */
export interface By {
  readonly actor: Actor;
  readonly request: RequestContext;
  readonly idempotency: Idempotency | null;
}

/** A change as its statements made it. Without events nothing was changed, and only the answer counts. */
export interface Change {
  readonly events: readonly NewEvent[];
  readonly answer: JsonObject;
  /** Told once, beside the answer: never kept, so a replay comes without it. */
  readonly secret?: JsonObject;
  readonly version?: number;
}

/** The answer, complete before the commit. */
export interface Administered {
  readonly body: string;
  readonly version: number | null;
  readonly replayed: boolean;
}

/**
 * The one way by which agents, keys, projects and their settings change. Holds the project while `change` runs, so that nobody
 * else's commit comes in between; a second request with the same retry key waits here for the first and gets its answer. A
 * commit whose answer is lost is settled here: nobody could be told the secret again.
 */
export async function administer(
  deps: AdministerDeps,
  by: By,
  change: (tx: Queryable, now: number) => Promise<Result<Change>>,
): Promise<Result<Administered>> {
  const { actor, request, idempotency } = by;
  const { projectId, agentId } = actor;
  let mark: CommitMark | null = null;
  const work = async (tx: Queryable): Promise<Result<Administered>> => {
    const head = await loadHead(tx, projectId, deps.clock.offsetMs(), true);
    if (head === null) throw new Error(`project ${projectId} is not there`);
    const retry = agentId === null || idempotency === null ? null : { agentId, ...idempotency };
    if (retry !== null) {
      const [kept] = await loadKeptAnswers(tx, projectId, [retry]);
      if (kept !== undefined) return replay(kept, retry.requestHash);
    }
    const changed = await change(tx, head.now);
    if (!changed.ok) return changed;
    const { events, answer, secret, version } = changed.value;
    const body = JSON.stringify(answer);
    if (events.length > 0) {
      await rowsOf(tx, advance(projectId, head.revision, events.length));
      const appended = events.map((event, index) => ({
        event,
        id: deps.newId(),
        position: head.position + index + 1,
        at: head.now,
        request,
      }));
      await rowsOf(tx, appendEvents(projectId, appended));
      mark = { projectId, position: head.position + 1, eventId: appended[0]?.id ?? null };
      if (retry !== null)
        await rowsOf(tx, keepAnswers(projectId, [{ ...retry, kind: 'done', answer: body }], head.now));
    }
    return ok({
      body: secret === undefined ? body : JSON.stringify({ ...answer, ...secret }),
      version: version ?? null,
      replayed: false,
    });
  };
  const isCommitted = async (): Promise<boolean> => mark === null || committed(deps.pool, mark);
  const result = await inTransaction(deps.pool, work, isCommitted);
  if (mark !== null && result.ok) deps.onCommit(projectId);
  return result;
}

function replay(kept: { answer: string; requestHash: string }, requestHash: string): Result<Administered> {
  if (kept.requestHash === requestHash)
    return ok({ body: kept.answer, version: versionIn(kept.answer), replayed: true });
  return refuse(
    'idempotency_key_reused',
    'This Idempotency-Key was already used for another request. Use a new key for each new command, the same key only to send one again.',
    { retryable: false },
  );
}

/** A fact about the project itself, its agents or keys: it belongs to no task and no run. */
export function factBy(actor: Actor, type: EventType, command: string, data: JsonObject): NewEvent {
  return {
    type,
    taskId: null,
    number: null,
    runId: null,
    agentId: actor.agentId,
    role: roleFor(actor, ['operator']) ?? 'server',
    command,
    from: null,
    to: null,
    counters: null,
    reason: null,
    data,
  };
}
