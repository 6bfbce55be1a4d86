import { inSnapshot, isOutOfTime } from '../../db/snapshot.js';
import type { Clock } from '../../kernel/clock.js';
import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import { ok, type Result, refuse } from '../../kernel/refusal.js';
import { checkProject } from './store.js';
import { type Checkup, INVARIANTS } from './types.js';

/** What the health room needs. */
export interface HealthDeps {
  readonly databaseUrl: string;
  readonly clock: Clock;
  /** How long a check may take, in milliseconds. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;
const ASK_AGAIN_SECONDS = 5;

/** Says whether what always holds does hold. Changes nothing. */
export class Health {
  /** A check reads the whole log and holds a snapshot meanwhile: one at a time in each process. */
  private isChecking = false;

  constructor(private readonly deps: HealthDeps) {}

  /** Holds a project against every invariant; what is broken is no refusal, it is the answer. */
  async check(projectId: string): Promise<Result<JsonObject>> {
    if (this.isChecking) {
      return refuse('overloaded', 'A check is running. Ask again when it is done.', {
        retryable: true,
        retryAfterSeconds: ASK_AGAIN_SECONDS,
      });
    }
    const { databaseUrl, clock, timeoutMs = TIMEOUT_MS } = this.deps;
    this.isChecking = true;
    try {
      const checkup = await inSnapshot(databaseUrl, timeoutMs, (db) => checkProject(db, projectId));
      return ok(checkupToWire(checkup, clock.offsetMs()));
    } catch (error) {
      if (!isOutOfTime(error)) throw error;
      return refuse(
        'overloaded',
        `The check was given up after ${timeoutMs / 1000} seconds, so that it does not slow down the board. Ask again when less is going on, or check a copy: restore a backup into another database and start Fuseboard on that.`,
        { retryable: true, retryAfterSeconds: Math.ceil(timeoutMs / 1000) },
      );
    } finally {
      this.isChecking = false;
    }
  }
}

function checkupToWire({ checkedAt, position, breaches }: Checkup, offsetMs: number): JsonObject {
  const rules = INVARIANTS.map(({ rule, about, promise }) => {
    const found = breaches.find((breach) => breach.rule === rule);
    const examples = (found?.examples ?? []).map((id) => toWire(about, id));
    return { rule, promise, broken: found?.broken ?? 0, examples };
  });
  return {
    ok: rules.every(({ broken }) => broken === 0),
    checked_at: new Date(checkedAt + offsetMs).toISOString(),
    position,
    rules,
  };
}
