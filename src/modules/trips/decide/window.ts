import type { Layer, LayerReading, Trip } from '../../guard/types.js';
import type { AttemptFacts } from '../types.js';

/** What a diagnosis is made of: nothing else is looked at, so that it can be made again later and be the same. */
export interface DiagnosisInput {
  readonly trip: Pick<Trip, 'kind' | 'layers'>;
  readonly acceptance: readonly string[];
  /** The attempts up to the trip, first to last. */
  readonly attempts: readonly AttemptFacts[];
  /** Names of agents, for the sentences. */
  readonly names?: ReadonlyMap<string, string>;
}

/** What counts for the trip: attempts, verdicts and errors since the last recovery. */
export interface Window {
  readonly input: DiagnosisInput;
  readonly attempts: readonly AttemptFacts[];
  readonly sentBack: readonly Judged[];
  readonly counted: readonly Failed[];
}

/** An attempt with its verdict. */
export type Judged = AttemptFacts & { readonly verdict: NonNullable<AttemptFacts['verdict']> };
/** An attempt with its error. */
export type Failed = AttemptFacts & { readonly error: NonNullable<AttemptFacts['error']> };

/**
 * The layers of the trip say how much was counted since the last recovery, so the window needs no other record: the last so
 * many verdicts, counted errors and attempts.
 */
export function windowOf(input: DiagnosisInput): Window {
  const { attempts, trip } = input;
  const sentBack = attempts.filter((attempt): attempt is Judged => attempt.verdict?.approved === false);
  const counted = attempts.filter(
    (attempt): attempt is Failed =>
      attempt.error !== null && (attempt.error.class === 'error' || attempt.error.class === 'lease_expired'),
  );
  const started = readingOf(trip.layers, 'attempt') - (waits(attempts.at(-1)) ? 1 : 0);
  return {
    input,
    attempts: last(attempts, started),
    sentBack: last(sentBack, readingOf(trip.layers, 'rework')),
    counted: last(counted, readingOf(trip.layers, 'error')),
  };
}

/** Whether the task was waiting for its next attempt, which the attempt layer counts before it starts. */
function waits(attempt: AttemptFacts | undefined): boolean {
  if (attempt === undefined) return true;
  return attempt.outcome === 'submitted' ? attempt.verdict !== null : attempt.outcome !== 'stopped';
}

/** What a layer of the trip had counted; 0 for one that is not there. */
export function readingOf(layers: readonly LayerReading[], kind: Layer): number {
  return layers.find((layer) => layer.kind === kind)?.value ?? 0;
}

function last<T>(list: readonly T[], count: number): readonly T[] {
  return count <= 0 ? [] : list.slice(-count);
}

/** A text in one line, cut when it is longer than asked. */
export function shortened(text: string, length: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}
