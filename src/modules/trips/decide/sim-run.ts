import type { OwnLimits } from '../../guard/types.js';
import { limitsIn, objectIn, type ReplayEvent, type Spent, timeIn } from './replay.js';

/** A run as a simulation has it. */
export interface SimRun {
  readonly id: string;
  own: OwnLimits;
  readonly sinceProgress: boolean;
  readonly startedAt: number;
  deadlineAt: number | null;
  iterations: number;
  tokensUsed: number;
  costMicros: number;
  /** Tripped in the log. */
  tripped: boolean;
  closed: boolean;
  /** Stopped here. */
  stopped: boolean;
}

/** A run as its first event has it. */
export function simRun(id: string, { data, at }: ReplayEvent): SimRun {
  return {
    id,
    own: limitsIn(data.limits),
    // A project's own run says nothing of its mode: there is only one way to make it.
    sinceProgress: (data.iteration_mode ?? 'since_progress') === 'since_progress',
    startedAt: at,
    deadlineAt: timeIn(data.deadline_at),
    iterations: 0,
    tokensUsed: 0,
    costMicros: 0,
    tripped: false,
    closed: false,
    stopped: false,
  };
}

/** Begins a run's counters again, as a recovery does. */
export function recoverRun(run: SimRun, { data }: ReplayEvent): void {
  const changes = objectIn(data.changes);
  run.own = { ...run.own, ...limitsIn(changes.limits) };
  if (changes.deadline_at !== undefined) run.deadlineAt = timeIn(changes.deadline_at);
  run.tripped = false;
  run.iterations = 0;
  if (changes.reset_tokens !== true) return;
  run.tokensUsed = 0;
  run.costMicros = 0;
}

/** Counts what was reported on the run. */
export function spend(run: SimRun, { iterations, tokens, costMicros }: Spent): void {
  run.iterations += iterations;
  run.tokensUsed += tokens;
  run.costMicros += costMicros;
}
