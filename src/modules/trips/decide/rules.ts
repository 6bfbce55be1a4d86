import type { AttemptFacts, Diagnosis, DiagnosisCode } from '../types.js';
import { type Failed, type Judged, readingOf, shortened, type Window } from './window.js';

/** Each attempt must cost so much more than the one before it, in percent. */
const RISE_PERCENT = 20;

/** What one rule says of a window; null when it does not fit. */
type Rule = (window: Window) => Diagnosis | null;

function identicalResults({ attempts }: Window): Diagnosis | null {
  const results = attempts.filter((attempt) => attempt.resultHash !== null);
  let longest: readonly AttemptFacts[] = [];
  let row: readonly AttemptFacts[] = [];
  for (const attempt of results) {
    row = row[0]?.resultHash === attempt.resultHash ? [...row, attempt] : [attempt];
    if (row.length > longest.length) longest = row;
  }
  if (longest.length < 2) return null;
  const numbers = numbersOf(longest);
  return found(
    'identical_results',
    numbers,
    `The same result was handed in ${longest.length} times in a row (attempts ${listed(numbers)}), so what the verdicts asked for did not reach the work.`,
  );
}

function sameCriterion({ sentBack, input }: Window): Diagnosis | null {
  if (sentBack.length < 2) return null;
  const named = sentBack.map(
    ({ verdict }) =>
      new Set(verdict.findings.flatMap(({ criterion }) => (criterion === null ? [] : [criterion]))),
  );
  const [first, ...others] = named;
  const always = [...(first ?? [])].filter((criterion) => others.every((set) => set.has(criterion)));
  const [criterion] = always.sort((a, b) => a - b);
  if (criterion === undefined) return null;
  const text = input.acceptance[criterion];
  const words = text === undefined ? '' : ` (“${shortened(text, 120)}”)`;
  const also = always.length === 1 ? '' : ` and ${always.length - 1} more`;
  return found(
    'same_criterion',
    numbersOf(sentBack),
    `Criterion ${criterion}${words}${also} was found unmet in all ${sentBack.length} verdicts.`,
  );
}

function movingGoalposts({ sentBack }: Window): Diagnosis | null {
  if (sentBack.length < 3) return null;
  const known = new Set<string>();
  let findings = 0;
  for (const { verdict } of sentBack) {
    const round = new Set(findingsOf(verdict).map(normalised));
    for (const finding of round) if (known.has(finding)) return null;
    for (const finding of round) known.add(finding);
    findings += round.size;
  }
  return found(
    'moving_goalposts',
    numbersOf(sentBack),
    `The ${sentBack.length} verdicts made ${findings} different findings, and none of them repeats one of an earlier verdict.`,
  );
}

/** A verdict without findings says in its reason what it found. */
function findingsOf(verdict: Judged['verdict']): readonly string[] {
  return verdict.findings.length > 0 ? verdict.findings.map(({ detail }) => detail) : [verdict.reason ?? ''];
}

/** The same finding in other case, with other numbers or other marks, is the same finding. */
function normalised(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\p{N}+/gu, '#')
    .replace(/[^\p{L}#]+/gu, ' ')
    .trim();
}

function oneFingerprint({ counted }: Window): Diagnosis | null {
  const [first] = counted;
  if (first === undefined || counted.length < 2) return null;
  if (!counted.every(({ error }) => error.fingerprint === first.error.fingerprint)) return null;
  return found(
    'one_fingerprint',
    numbersOf(counted),
    `All ${counted.length} counted errors are one and the same: ${shortened(first.error.fingerprint, 200)}.`,
  );
}

function dependency({ attempts }: Window): Diagnosis | null {
  const failed = attempts.filter((attempt): attempt is Failed => attempt.error !== null);
  const outside = failed.filter(
    ({ error }) => error.class === 'infrastructure' || error.class === 'rate_limited',
  );
  if (outside.length < 2 || outside.length < failed.length) return null;
  return found(
    'dependency',
    numbersOf(outside),
    `All ${outside.length} failures were reported as ${listed([...new Set(outside.map(({ error }) => error.class))])}: something the work depends on was not there.`,
  );
}

function tokensRising({ attempts }: Window): Diagnosis | null {
  const reported = attempts.filter((attempt) => tokensOf(attempt) > 0);
  if (reported.length < 3) return null;
  const costs = reported.map(tokensOf);
  const rises = costs.every((cost, i) => i === 0 || cost * 100 >= (costs[i - 1] ?? 0) * (100 + RISE_PERCENT));
  if (!rises) return null;
  return found(
    'tokens_rising',
    numbersOf(reported),
    `Each attempt used at least ${RISE_PERCENT}% more tokens than the one before: ${costs.join(', ')}.`,
  );
}

function tokensOf({ usage: { tokens } }: AttemptFacts): number {
  return tokens.input + tokens.output + tokens.cacheWrite;
}

function deadReviewer({ input, attempts }: Window): Diagnosis | null {
  const failures = readingOf(input.trip.layers, 'review');
  if (failures < 2 && input.trip.kind !== 'review') return null;
  const reviewed = attempts.filter((attempt) => attempt.outcome === 'submitted');
  return found(
    'dead_reviewer',
    numbersOf(reviewed.slice(-1)),
    `${failures} ${failures === 1 ? 'review' : 'reviews'} ended without a verdict: the reviewer's lease ran out, or it reported that it could not review.`,
  );
}

function onePair({ sentBack, input }: Window): Diagnosis | null {
  const [first] = sentBack;
  if (first === undefined || sentBack.length < 3) return null;
  const same = sentBack.every(
    ({ agentId, verdict }) => agentId === first.agentId && verdict.by === first.verdict.by,
  );
  if (!same) return null;
  const nameOf = (id: string): string => input.names?.get(id) ?? 'one agent';
  return found(
    'one_pair',
    numbersOf(sentBack),
    `All ${sentBack.length} verdicts are between the same two: ${nameOf(first.agentId)} works, ${nameOf(first.verdict.by)} sends it back.`,
  );
}

/** Every rule, in the order of `DIAGNOSES`. */
export const RULES: readonly Rule[] = [
  identicalResults,
  sameCriterion,
  movingGoalposts,
  oneFingerprint,
  dependency,
  tokensRising,
  deadReviewer,
  onePair,
];

/** No rule fits. */
export function nothing({ attempts, input }: Window): Diagnosis {
  const of = attempts.length === 1 ? 'the 1 attempt' : `the ${attempts.length} attempts`;
  const explanation = `No rule fits ${of} that led to this ${input.trip.kind} trip. Read them before you decide.`;
  return found('none', [], explanation);
}

function found(code: DiagnosisCode, attempts: readonly number[], explanation: string): Diagnosis {
  return { code, explanation, attempts };
}

function numbersOf(attempts: readonly AttemptFacts[]): number[] {
  return attempts.map(({ number }) => number);
}

function listed(items: readonly (string | number)[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}
