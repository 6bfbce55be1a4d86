import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import type { NextAction } from '../../kernel/refusal.js';
import type { Assessment, Layer, Trip } from '../guard/types.js';
import { toUsd } from '../guard/wire.js';
import type { Recommendation } from './decide/recommend.js';
import { roundedUp } from './decide/round.js';
import type { AttemptFacts, Diagnosis, DiagnosisCode, Subject } from './types.js';

/** A call that may be made now, with a body that can be sent as it is. */
export interface Step {
  readonly why: string;
  readonly action: NextAction;
  readonly body: JsonObject | null;
}

interface Facts {
  readonly trip: Trip;
  readonly subject: Subject | null;
  readonly attempts: readonly AttemptFacts[];
  readonly diagnosis: Diagnosis;
  readonly recommendation: Recommendation | null;
  readonly now: number;
}

type Known = Facts & { readonly subject: Subject };

/** What each diagnosis says of who or what was wrong. */
const ASSESSED: { readonly [code in DiagnosisCode]: Assessment } = {
  identical_results: 'wrong_agent',
  same_criterion: 'acceptance_too_high',
  moving_goalposts: 'unclear_description',
  one_fingerprint: 'wrong_approach',
  dependency: 'transient',
  tokens_rising: 'budget_too_small',
  dead_reviewer: 'transient',
  one_pair: 'wrong_agent',
  none: 'other',
};

/** What whoever goes on is told of the attempts so far. */
const HINTS: { readonly [code in DiagnosisCode]?: string } = {
  one_fingerprint: 'The same error ended every attempt so far: find its cause before you go on.',
  tokens_rising:
    'Every attempt cost more than the one before: do the smallest part that is worth handing in.',
};
const HINT = 'Read the earlier attempts and what was said of them before you start.';

const PARTS_MAX = 10;

/** How much room a raised limit leaves above the value that was reached. */
const ROOM = 1.25;

/** What may be done about a trip now, the recommended first. */
export function nextSteps(facts: Facts): readonly Step[] {
  const { trip, subject, recommendation } = facts;
  if (subject === null || recommendation === null) {
    const why = 'see which breaker is open, and when its probe is due';
    return [{ why, action: { call: 'list_breakers' }, body: null }];
  }
  const looks = lookAt(subject);
  if (trip.state === 'closed') return looks;
  const on = { kind: 'trip', id: trip.id } as const;
  const action: NextAction = {
    call: 'recover_trip',
    on,
    role: trip.severity === 'HIGH' ? 'operator' : 'planner',
  };
  const { strategy, why } = recommendation;
  const steps: Step[] = [];
  // While its probe is out, a half-open trip can only be given up.
  if (trip.state === 'open')
    steps.push({ why: `${strategy}: ${why}`, action, body: bodyFor({ ...facts, subject }, strategy) });
  if (subject.canEnd && strategy !== 'terminate') {
    const body = { strategy: 'terminate', reason: 'It is not worth another try.' };
    steps.push({ why: 'terminate: give it up for good', action, body });
  }
  return [...steps, ...looks];
}

function lookAt({ kind, id }: Subject): Step[] {
  const on = { kind, id };
  return kind === 'task'
    ? [
        { why: 'read every attempt, verdict and error', action: { call: 'get_task_brief', on }, body: null },
        { why: 'read its whole log', action: { call: 'list_task_events', on }, body: null },
      ]
    : [{ why: 'read the run, its budgets and its tasks', action: { call: 'get_run', on }, body: null }];
}

function bodyFor(facts: Known, strategy: Recommendation['strategy']): JsonObject {
  const { code, explanation: reason } = facts.diagnosis;
  if (strategy === 'terminate' || strategy === 'escalate') return { strategy, reason };
  const limits = raisedLimits(facts, strategy);
  const changes: JsonObject = {
    ...(strategy === 'adjust' ? workChanges(facts) : {}),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...newDeadline(facts),
  };
  const changed = Object.keys(changes).length > 0;
  return {
    // A limit that has to be raised is a change, whatever the strategy does beside it.
    strategy: strategy === 'split' ? 'split' : changed ? 'adjust' : 'reset',
    reason,
    assessment: ASSESSED[code],
    ...(strategy === 'split' ? { tasks: partsOf(facts) } : {}),
    ...(changed ? { changes } : {}),
    ...(strategy === 'reset' && isOver(facts, 'token', 'run_tokens', 'run_cost')
      ? { reset_tokens: true }
      : {}),
    ...(strategy !== 'split' && awaitsReview(facts) ? { to: 'in_review' } : {}),
  };
}

function isOver({ trip }: Facts, ...kinds: readonly Layer[]): boolean {
  return trip.layers.some(({ kind, state }) => state === 'open' && kinds.includes(kind));
}

/** The limits that must rise, because going on under them would cross the same line at once. */
function raisedLimits({ trip }: Facts, strategy: 'reset' | 'adjust' | 'split'): JsonObject {
  const limits: JsonObject = {};
  for (const { kind, value, state } of trip.layers) {
    if (state !== 'open') continue;
    if (kind === 'cost') limits.max_cost_usd = roundedUp(toUsd(value) * ROOM);
    if (strategy === 'reset') continue;
    if (kind === 'token') limits.max_tokens = roundedUp(value * ROOM);
    if (kind === 'iteration') limits.max_iterations = roundedUp(value * ROOM);
    if (kind === 'run_tokens') limits.max_run_tokens = roundedUp(value * ROOM);
    if (kind === 'run_cost') limits.max_run_cost_usd = roundedUp(toUsd(value) * ROOM);
  }
  return limits;
}

/** A run past its end gets as much time again as it was given at first. */
function newDeadline(facts: Known): JsonObject {
  const { createdAt, deadlineAt } = facts.subject;
  if (deadlineAt === null || !isOver(facts, 'deadline')) return {};
  return { deadline_at: new Date(facts.now + deadlineAt - createdAt).toISOString() };
}

/** A change of the work that fits the diagnosis: a start, for whoever sends it to write on. */
function workChanges(facts: Known): JsonObject {
  const { trip, subject, attempts, diagnosis } = facts;
  if (trip.scope !== 'task') return {};
  const executor = attempts.at(-1)?.agentId;
  const acceptance = acceptanceFor(facts);
  if (acceptance !== null) return { acceptance };
  if ((diagnosis.code === 'identical_results' || diagnosis.code === 'one_pair') && executor !== undefined)
    return { excluded_agent_id: toWire('agent', executor) };
  // A budget that is raised is change enough.
  if (diagnosis.code === 'none' && isOver(facts, 'token', 'cost')) return {};
  const hint = HINTS[diagnosis.code] ?? HINT;
  return {
    description: subject.description === '' ? hint : `${subject.description}\n\n${hint}`.slice(-100_000),
  };
}

/** A part for each criterion; without enough of them, two to be written on. */
function partsOf({ subject: { name, acceptance } }: Known): JsonObject[] {
  const title = name.slice(0, 400);
  if (acceptance.length < 2)
    return [
      { ref: 'first', title: `${title}: the first half` },
      { ref: 'rest', title: `${title}: the rest`, depends_on: ['first'] },
    ];
  return acceptance.slice(0, PARTS_MAX).map((criterion, index) => ({
    ref: `part_${index + 1}`,
    title: `${title}: part ${index + 1}`,
    acceptance: [criterion],
  }));
}

/** The criteria with what the verdicts found unmet said in them: clearer, and ended. */
function acceptanceFor({ subject, attempts, diagnosis }: Known): string[] | null {
  const findings = attempts.flatMap(({ verdict }) => verdict?.findings ?? []);
  const { acceptance } = subject;
  if (diagnosis.code === 'moving_goalposts') {
    const known = new Set([...acceptance, ...findings.map(({ detail }) => detail.slice(0, 2_000))]);
    return known.size > acceptance.length ? [...known].slice(0, 100) : null;
  }
  if (diagnosis.code !== 'same_criterion') return null;
  const clearer = acceptance.map((criterion, index) => {
    const said = new Set(
      findings.filter((finding) => finding.criterion === index).map(({ detail }) => detail),
    );
    return said.size === 0
      ? criterion
      : `${criterion} (found so far: ${[...said].join('; ')})`.slice(0, 2_000);
  });
  return clearer.some((criterion, index) => criterion !== acceptance[index]) ? clearer : null;
}

/** The last attempt has a result that nobody judged: the task can go straight back to review. */
function awaitsReview({ trip, attempts }: Facts): boolean {
  const last = attempts.at(-1);
  return trip.kind === 'review' && last !== undefined && last.resultHash !== null && last.verdict === null;
}
