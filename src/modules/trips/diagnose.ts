import type { Trip } from '../guard/types.js';
import { nothing, RULES } from './decide/rules.js';
import { type DiagnosisInput, windowOf } from './decide/window.js';
import type { Diagnosis, DiagnosisCode } from './types.js';

/** Which diagnoses are about the very thing that a layer counts. */
const LEADS: { readonly [kind in Trip['kind']]?: readonly DiagnosisCode[] } = {
  error: ['one_fingerprint', 'dependency'],
  review: ['dead_reviewer'],
  token: ['tokens_rising'],
  cost: ['tokens_rising'],
  attempt: ['dependency'],
};

/**
 * Every diagnosis that the attempts since the last recovery prove, the most telling first; `none` when there is no such. What
 * tells most is what the tripped layer counts, then the order of `DIAGNOSES`. Never a guess: each rule is all or nothing.
 */
export function diagnose(input: DiagnosisInput): readonly [Diagnosis, ...Diagnosis[]] {
  const seen = windowOf(input);
  const found = RULES.map((rule) => rule(seen)).filter((diagnosis) => diagnosis !== null);
  const leads = LEADS[input.trip.kind] ?? [];
  const [first, ...others] = [
    ...found.filter(({ code }) => leads.includes(code)),
    ...found.filter(({ code }) => !leads.includes(code)),
  ];
  return first === undefined ? [nothing(seen)] : [first, ...others];
}

export type { DiagnosisInput };
