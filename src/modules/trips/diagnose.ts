import type { Layer, LayerReading, Trip } from '../guard/types.js';
import type { AttemptFacts, Diagnosis, DiagnosisCode } from './types.js';

/** What a diagnosis is made of: nothing else is looked at, so that it can be made again later and be the same. */
export interface DiagnosisInput {
  readonly trip: Pick<Trip, 'kind' | 'layers'>;
  readonly acceptance: readonly string[];
  /** The attempts up to the trip, first to last. */
  readonly attempts: readonly AttemptFacts[];
  /** Names of agents, for the sentences. */
  readonly names?: ReadonlyMap<string, string>;
}

/** Each attempt must cost so much more than the one before it, in percent. */
const RISE_PERCENT = 20;

/**
 * Every diagnosis that the attempts since the last recovery prove, the most telling first; `none` when there is no such. What
 * tells most is what the tripped layer counts, then the order of `DIAGNOSES`.
 */
export function diagnose(input: DiagnosisInput): readonly [Diagnosis, ...Diagnosis[]] {
  const seen = windowOf(input);
  const found: Diagnosis[] = [];
  for (const rule of RULES) {
    const diagnosis = rule(seen);
    if (diagnosis !== null) found.push(diagnosis);
  }
  const leads = LEADS[input.trip.kind] ?? [];
  const ordered = [
    ...found.filter(({ code }) => leads.includes(code)),
    ...found.filter(({ code }) => !leads.includes(code)),
  ];
  const [first, ...others] = ordered;
  return first === undefined ? [nothing(seen)] : [first, ...others];
}

/** Which diagnoses are about the very thing that a layer counts. */
const LEADS: { readonly [kind in Trip['kind']]?: readonly DiagnosisCode[] } = {
  error: ['one_fingerprint', 'dependency'],
  review: ['dead_reviewer'],
  token: ['tokens_rising'],
  cost: ['tokens_rising'],
  attempt: ['dependency'],
};

/** What counts for the trip: attempts, verdicts and errors since the last recovery. */
interface Window {
  readonly input: DiagnosisInput;
  readonly attempts: readonly AttemptFacts[];
  readonly sentBack: readonly Judged[];
  readonly counted: readonly Failed[];
}

type Judged = AttemptFacts & { readonly verdict: NonNullable<AttemptFacts['verdict']> };
type Failed = AttemptFacts & { readonly error: NonNullable<AttemptFacts['error']> };

/**
 * The layers of the trip say how much was counted since the last recovery, so the window needs no other record: the last so
 * many verdicts, counted errors and attempts.
 */
function windowOf(input: DiagnosisInput): Window {
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

function readingOf(layers: readonly LayerReading[], kind: Layer): number {
  return layers.find((layer) => layer.kind === kind)?.value ?? 0;
}

function last<T>(list: readonly T[], count: number): readonly T[] {
  return count <= 0 ? [] : list.slice(-count);
}

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

/** In the order of `DIAGNOSES`. */
const RULES: readonly Rule[] = [
  identicalResults,
  sameCriterion,
  movingGoalposts,
  oneFingerprint,
  dependency,
  tokensRising,
  deadReviewer,
  onePair,
];

function nothing({ attempts, input }: Window): Diagnosis {
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

/** A text in one line, cut when it is longer than asked. */
export function shortened(text: string, length: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}
