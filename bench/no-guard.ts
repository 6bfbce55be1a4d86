import type { Verdict } from '../src/modules/guard/types.js';

// Stands in for the guard's evaluation where a service is measured without it. There is no such switch in the service.

export * from '../src/modules/guard/evaluate.js';

const NOTHING_TO_SAY: Verdict = { verdict: 'allow', layers: [] };

/** Reads no counter and no limit, and allows everything. */
export function evaluate(): Verdict {
  return NOTHING_TO_SAY;
}
