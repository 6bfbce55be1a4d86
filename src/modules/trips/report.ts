import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import type { NextAction } from '../../kernel/refusal.js';
import { overPercent } from '../guard/evaluate.js';
import type { LayerReading, Trip } from '../guard/types.js';
import { inUnits } from '../guard/wire.js';
import { type Recommendation, recommend, type StrategyRecord } from './decide/recommend.js';
import { type Timeline, timelineOf } from './decide/timeline.js';
import { diagnose } from './diagnose.js';
import { nextSteps, type Step } from './next-steps.js';
import type { AttemptFacts, Diagnosis, LogEntry, Subject } from './types.js';

/** All that a report is made of. */
export interface ReportInput {
  readonly trip: Trip;
  readonly subject: Subject | null;
  readonly attempts: readonly AttemptFacts[];
  readonly log: readonly LogEntry[];
  /** How many events came before the log that was read. */
  readonly earlier: number;
  readonly names: ReadonlyMap<string, string>;
  readonly records: readonly StrategyRecord[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The report of a trip. */
export interface Report {
  readonly trip: Trip;
  readonly generatedAt: number;
  readonly about: string | null;
  readonly layers: readonly (LayerReading & { readonly overPercent: number })[];
  readonly errors: readonly { readonly name: string; readonly count: number }[];
  readonly fingerprints: readonly { readonly name: string; readonly count: number }[];
  readonly timeline: Timeline;
  readonly names: ReadonlyMap<string, string>;
  readonly diagnoses: readonly [Diagnosis, ...Diagnosis[]];
  readonly recommendation: Recommendation | null;
  readonly steps: readonly Step[];
}

/** How many different fingerprints a report lists: the most frequent. */
const FINGERPRINTS_MAX = 10;

/** Makes the report of a trip. Pure: the same input always gives the same report. */
export function reportOf(input: ReportInput): Report {
  const { trip, subject, attempts, log, names, now } = input;
  const diagnoses = diagnosesOf(input);
  const recommendation = recommendationOf(input, diagnoses[0]);
  const errors = subject?.kind === 'run' ? errorsInLog(log) : attempts.flatMap(({ error }) => error ?? []);
  return {
    trip,
    generatedAt: now,
    about: subject?.name ?? null,
    layers: trip.layers.map((layer) => ({ ...layer, overPercent: overPercent(layer.value, layer.limit) })),
    errors: counted(errors.map((error) => error.class)),
    fingerprints: counted(errors.map((error) => error.fingerprint)).slice(0, FINGERPRINTS_MAX),
    timeline: timelineOf(log, attempts, input.earlier),
    names,
    diagnoses,
    recommendation,
    steps: nextSteps({ trip, subject, attempts, now, diagnosis: diagnoses[0], recommendation }),
  };
}

function diagnosesOf({ trip, subject, attempts, names }: ReportInput): readonly [Diagnosis, ...Diagnosis[]] {
  if (subject?.kind === 'task') return diagnose({ trip, attempts, names, acceptance: subject.acceptance });
  const what = subject === null ? 'of a breaker above all tasks' : "of a run's budget";
  const explanation = `This trip is ${what}. Diagnoses are made of the attempts of one task; look at the tasks in the timeline.`;
  return [{ code: 'none', attempts: [], explanation }];
}

function recommendationOf(
  { trip, subject, records }: ReportInput,
  { code }: Diagnosis,
): Recommendation | null {
  return subject === null ? null : recommend(trip.kind, code, subject.recoveries > 0, records);
}

function errorsInLog(log: readonly LogEntry[]): { class: string; fingerprint: string }[] {
  return log.flatMap(({ type, data: { error } }) => {
    if (type === 'task.lease_expired') return { class: 'lease_expired', fingerprint: 'lease_expired' };
    if (typeof error !== 'object' || error === null || Array.isArray(error)) return [];
    return { class: String(error.class), fingerprint: String(error.fingerprint) };
  });
}

function counted(names: readonly string[]): { name: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || a.name.localeCompare(b.name));
}

/** A next action on the wire, or null when no route serves it. */
export type ToCall = (
  action: NextAction,
) => { readonly method: string; readonly path: string; readonly role?: string } | null;

/** The next steps as calls that can be sent as they are. */
export function callsOf(report: Report, toCall: ToCall): JsonObject[] {
  return report.steps.flatMap(({ why, action, body }) => {
    const call = toCall(action);
    if (call === null) return [];
    const { method, path, role } = call;
    return { why, method, path, role: role ?? null, body };
  });
}

/** The report on the wire. */
export function reportToWire(report: Report, toCall: ToCall): JsonObject {
  const { trip, timeline, diagnoses, recommendation } = report;
  const [first, ...others] = diagnoses;
  const at = (ms: number) => new Date(ms).toISOString();
  return {
    generated_at: at(report.generatedAt),
    breaker_type: trip.kind.toUpperCase(),
    severity: trip.severity,
    action_required: trip.actionRequired,
    about: report.about,
    layers: report.layers.map((layer) => ({
      kind: layer.kind,
      value: inUnits(layer.kind, layer.value),
      limit: inUnits(layer.kind, layer.limit),
      state: layer.state,
      over_percent: layer.overPercent,
    })),
    errors: {
      total: report.errors.reduce((sum, { count }) => sum + count, 0),
      by_class: Object.fromEntries(report.errors.map(({ name, count }) => [name, count])),
      fingerprints: report.fingerprints.map(({ name, count }) => ({ fingerprint: name, count })),
    },
    timeline: {
      entries: timeline.moments.map((moment) => ({
        at: at(moment.at),
        agent_id: moment.agentId === null ? null : toWire('agent', moment.agentId),
        agent: moment.agentId === null ? null : (report.names.get(moment.agentId) ?? null),
        role: moment.role,
        event: moment.event,
        task_id: moment.taskId === null ? null : toWire('task', moment.taskId),
        attempt: moment.attempt,
        text: moment.text,
      })),
      cut: timeline.omitted > 0,
      omitted: timeline.omitted,
    },
    diagnosis: diagnosisToWire(first),
    other_diagnoses: others.map(diagnosisToWire),
    recommendation: recommendation === null ? null : recommendationToWire(recommendation),
    next_actions: callsOf(report, toCall),
  };
}

function diagnosisToWire({ code, explanation, attempts }: Diagnosis): JsonObject {
  return { code, explanation, attempts: [...attempts] };
}

function recommendationToWire({ strategy, basis, successRate, sample, why }: Recommendation): JsonObject {
  return { strategy, basis, success_rate: successRate, sample, why };
}
