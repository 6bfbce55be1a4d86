import type { JsonObject } from '../../kernel/json.js';
import type { LayerReading, Trip } from '../guard/types.js';
import type { Attempt, AttemptError } from '../tasks/types.js';

/** So many known ends make a rate worth following. */
export const SAMPLE_MIN = 5;

/** Why a task tripped, as far as its attempts prove it. `none`: no rule fits, and nothing is guessed. */
export const DIAGNOSES = [
  'identical_results',
  'same_criterion',
  'moving_goalposts',
  'one_fingerprint',
  'dependency',
  'tokens_rising',
  'dead_reviewer',
  'one_pair',
  'none',
] as const;
export type DiagnosisCode = (typeof DIAGNOSES)[number];

/** One diagnosis, with the attempts that prove it. */
export interface Diagnosis {
  readonly code: DiagnosisCode;
  readonly explanation: string;
  /** The numbers of the attempts it rests on, first to last. */
  readonly attempts: readonly number[];
}

/** What a diagnosis reads of an attempt: everything but its result and its error's detail, which may be large. */
export interface AttemptFacts
  extends Pick<
    Attempt,
    'number' | 'agentId' | 'claimedAt' | 'endedAt' | 'outcome' | 'resultHash' | 'usage' | 'verdict'
  > {
  readonly error: Pick<AttemptError, 'class' | 'message' | 'fingerprint'> | null;
}

/** Which trips a list shows. */
export interface TripFilter {
  readonly state?: Trip['state'];
  readonly kind?: Trip['kind'];
  readonly scope?: Trip['scope'];
  readonly taskId?: string;
  readonly runId?: string;
  readonly severity?: Trip['severity'];
}

/** What stands behind a trip: the task or run that it stopped, as it is now. */
export interface Subject {
  readonly kind: 'task' | 'run';
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly acceptance: readonly string[];
  readonly state: string;
  /** How often it was recovered. */
  readonly recoveries: number;
  readonly version: number;
  readonly openTripId: string | null;
  readonly createdAt: number;
  readonly deadlineAt: number | null;
  /** A default run never ends. */
  readonly canEnd: boolean;
}

/** What the log says of a moment. */
export interface LogEntry {
  readonly position: number;
  readonly type: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly agentId: string | null;
  readonly role: string;
  readonly taskId: string | null;
  readonly to: string | null;
  readonly reason: string | null;
  readonly data: JsonObject;
}

/** A closed trip, with how its task or run stands now. */
export interface ClosedTrip {
  readonly id: string;
  readonly scope: Trip['scope'];
  readonly kind: Trip['kind'];
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly layers: readonly LayerReading[];
  readonly openedAt: number;
  readonly closedAt: number;
  readonly strategy: string;
  readonly by: string;
  /** The state of the task or run now. */
  readonly state: string | null;
  /** What it is stopped by now. */
  readonly openKind: string | null;
}
