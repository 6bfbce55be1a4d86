import type { LayerReading } from '../../../src/modules/guard/types.js';
import type { DiagnosisInput } from '../../../src/modules/trips/diagnose.js';
import type { AttemptFacts } from '../../../src/modules/trips/types.js';

/** An attempt that was handed in, with whatever else is said of it. */
export function someAttempt(number: number, facts: Partial<AttemptFacts> = {}): AttemptFacts {
  return {
    number,
    agentId: 'executor',
    claimedAt: number * 1_000,
    endedAt: number * 1_000 + 500,
    outcome: 'submitted',
    resultHash: `result ${number}`,
    error: null,
    usage: {
      tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      costMicros: 0,
      iterations: 0,
      contextTokens: null,
    },
    verdict: null,
    ...facts,
  };
}

/** An attempt that was sent back with these findings. */
export function sentBack(
  number: number,
  findings: readonly (string | readonly [criterion: number, detail: string])[],
  facts: Partial<AttemptFacts> & { readonly reviewer?: string } = {},
): AttemptFacts {
  const { reviewer = 'reviewer', ...others } = facts;
  return someAttempt(number, {
    verdict: {
      attempt: number,
      by: reviewer,
      at: number * 1_000 + 900,
      approved: false,
      reason: `objection to ${number}`,
      class: 'defect',
      findings: findings.map((finding) =>
        typeof finding === 'string'
          ? { criterion: null, detail: finding }
          : { criterion: finding[0], detail: finding[1] },
      ),
    },
    ...others,
  });
}

type ErrorClass = NonNullable<AttemptFacts['error']>['class'];

/** An attempt that failed. */
export function failed(number: number, message: string, errorClass: ErrorClass = 'error'): AttemptFacts {
  return someAttempt(number, {
    outcome: 'failed',
    resultHash: null,
    error: { class: errorClass, message, fingerprint: `${errorClass}: ${message}` },
  });
}

/** An attempt that used so many tokens and was sent back. */
export function costing(number: number, tokens: number): AttemptFacts {
  const { usage } = someAttempt(number);
  return someAttempt(number, {
    agentId: `executor ${number}`,
    usage: { ...usage, tokens: { ...usage.tokens, input: tokens } },
  });
}

/** What a trip of that kind had counted. */
export function counted(
  kind: LayerReading['kind'],
  counts: Partial<Record<LayerReading['kind'], number>>,
): DiagnosisInput['trip'] {
  const layers = Object.entries({ attempt: 0, rework: 0, error: 0, review: 0, ...counts });
  const known = (name: string): name is LayerReading['kind'] =>
    name in { attempt: 0, rework: 0, error: 0, review: 0 };
  return {
    kind,
    layers: layers.flatMap(([name, value]) =>
      known(name)
        ? [{ kind: name, value, limit: 5, state: name === kind ? 'open' : 'closed', warned: false } as const]
        : [],
    ),
  };
}
