import {
  type ActionRequired,
  LAYERS,
  type Layer,
  type LayerReading,
  RUN_LAYERS,
  type RunCounters,
  type RunLimits,
  type Severity,
  TASK_LAYERS,
  type TaskCounters,
  type TaskLimits,
  type Verdict,
} from './types.js';

/**
 * How each layer is read. `trips`: at the limit, or only above it. `warns`: above 80% of the limit, or one before it.
 * Source: domain, "The guard"; the first three layers come from the harness's circuit breaker.
 */
const RULES: Record<Layer, { readonly trips: 'at' | 'above'; readonly warns: 'percent' | 'last' }> = {
  deadline: { trips: 'above', warns: 'percent' },
  iteration: { trips: 'at', warns: 'percent' },
  run_tokens: { trips: 'above', warns: 'percent' },
  run_cost: { trips: 'above', warns: 'percent' },
  token: { trips: 'above', warns: 'percent' },
  cost: { trips: 'above', warns: 'percent' },
  error: { trips: 'at', warns: 'last' },
  rework: { trips: 'at', warns: 'last' },
  review: { trips: 'at', warns: 'last' },
  attempt: { trips: 'above', warns: 'percent' },
};

/** The value above which a percent layer warns: 80% of its limit. */
const WARN_PERCENT = 80;

/** One layer's reading of a value against its limit. */
export function readLayer(kind: Layer, value: number, limit: number): LayerReading {
  const rule = RULES[kind];
  const open = rule.trips === 'at' ? value >= limit : value > limit;
  const warned = rule.warns === 'last' ? value >= limit - 1 && value > 0 : value * 100 > limit * WARN_PERCENT;
  return { kind, value, limit, state: open ? 'open' : 'closed', warned };
}

/** What the counters of a task and of its run are worth, and the time for deadlines (milliseconds since the epoch). */
export interface GuardInput {
  readonly task: { readonly counters: TaskCounters; readonly limits: TaskLimits } | null;
  readonly run: {
    readonly counters: RunCounters;
    readonly limits: RunLimits;
    readonly startedAt: number;
  } | null;
  readonly now: number;
}

/** Every layer that has a limit, highest priority first. Evaluates; changes nothing. */
export function evaluate(input: GuardInput): Verdict {
  const layers: LayerReading[] = [];
  for (const kind of LAYERS) {
    const reading = readingOf(kind, input);
    if (reading !== null) layers.push(reading);
  }
  return { verdict: verdictOf(layers), layers };
}

function readingOf(kind: Layer, { task, run, now }: GuardInput): LayerReading | null {
  const pair = pairOf(kind, task, run, now);
  return pair === null ? null : readLayer(kind, pair.value, pair.limit);
}

function pairOf(
  kind: Layer,
  task: GuardInput['task'],
  run: GuardInput['run'],
  now: number,
): { value: number; limit: number } | null {
  switch (kind) {
    case 'deadline':
      return run === null || run.counters.deadlineAt === null
        ? null
        : elapsed(run.startedAt, run.counters.deadlineAt, now);
    case 'iteration':
      return run === null ? null : { value: run.counters.iterations, limit: run.limits.maxIterations };
    case 'run_tokens':
      return run === null ? null : optional(run.counters.tokensUsed, run.limits.maxRunTokens);
    case 'run_cost':
      return run === null ? null : optional(run.counters.costMicros, run.limits.maxRunCostMicros);
    case 'token':
      return task === null ? null : { value: task.counters.tokensUsed, limit: task.limits.maxTokens };
    case 'cost':
      return task === null ? null : optional(task.counters.costMicros, task.limits.maxCostMicros);
    case 'error':
      return task === null ? null : { value: task.counters.errorCount, limit: task.limits.maxErrors };
    case 'rework':
      return task === null ? null : { value: task.counters.reworkCount, limit: task.limits.maxReworks };
    case 'review':
      return task === null
        ? null
        : { value: task.counters.reviewFailures, limit: task.limits.maxReviewFailures };
    case 'attempt':
      return task === null
        ? null
        : { value: task.counters.attemptsSinceUnblock, limit: task.limits.maxAttempts };
  }
}

function optional(value: number, limit: number | null): { value: number; limit: number } | null {
  return limit === null ? null : { value, limit };
}

/** A deadline as a layer: whole seconds since the run began, against the seconds it was given. */
function elapsed(startedAt: number, deadlineAt: number, now: number): { value: number; limit: number } {
  return { value: Math.ceil((now - startedAt) / 1000), limit: Math.ceil((deadlineAt - startedAt) / 1000) };
}

function verdictOf(layers: readonly LayerReading[]): Verdict['verdict'] {
  if (layers.some((layer) => layer.state === 'open')) return 'deny';
  return layers.some((layer) => layer.warned) ? 'warn' : 'allow';
}

/** The open layers of a verdict that watch a task, by priority. */
export function openTaskLayers(verdict: Verdict): readonly LayerReading[] {
  return verdict.layers.filter((layer) => layer.state === 'open' && isTaskLayer(layer.kind));
}

/** The open layers of a verdict that watch a run, by priority. */
export function openRunLayers(verdict: Verdict): readonly LayerReading[] {
  return verdict.layers.filter((layer) => layer.state === 'open' && !isTaskLayer(layer.kind));
}

/** Whether a layer watches one task, not its run. */
export function isTaskLayer(kind: Layer): boolean {
  return TASK_LAYERS.some((layer) => layer === kind);
}

/** Whether a layer watches a run. */
export function isRunLayer(kind: Layer): boolean {
  return RUN_LAYERS.some((layer) => layer === kind);
}

/**
 * Warnings are crossings, not levels: which layers have passed their line since they were last below it.
 * `warned` is what was warned of before; the answer's `warned` is what to keep.
 */
export function crossings(
  verdict: Verdict,
  warned: readonly Layer[],
): { readonly crossed: readonly LayerReading[]; readonly warned: readonly Layer[] } {
  const over = verdict.layers.filter((layer) => layer.warned);
  return {
    crossed: over.filter((layer) => !warned.includes(layer.kind)),
    warned: over.map((layer) => layer.kind),
  };
}

/** Up to which percent of the limit a trip is MEDIUM. Kinds that are not here are MEDIUM at any value. */
const MEDIUM_UP_TO: Partial<Record<Layer, number>> = {
  iteration: 120,
  token: 150,
  cost: 150,
  run_tokens: 150,
  run_cost: 150,
};

/**
 * How grave a trip is. Whatever its kind, it is HIGH once the task's unblocks (a run's recoveries) are used up: then a
 * planner that lifts it again would only be a slower loop. Source: domain, "Trips".
 */
export function severityOf(kind: Layer, value: number, limit: number, recoveriesUsedUp: boolean): Severity {
  if (recoveriesUsedUp) return 'HIGH';
  const upTo = MEDIUM_UP_TO[kind];
  return upTo !== undefined && value * 100 > limit * upTo ? 'HIGH' : 'MEDIUM';
}

/** The graver of two severities: an open trip rises and never falls. */
export function graver(a: Severity, b: Severity): Severity {
  return a === 'HIGH' || b === 'HIGH' ? 'HIGH' : a === 'MEDIUM' || b === 'MEDIUM' ? 'MEDIUM' : 'LOW';
}

/** MEDIUM: a planner agent may recover. HIGH: only an operator. */
export function actionFor(severity: Severity): ActionRequired {
  return severity === 'HIGH' ? 'BLOCKER_ESCALATION' : 'AUTOMATIC_RECOVERY';
}

/** By how many percent a value is over its limit, to one decimal; 0 at or below it. Over a limit of nothing: 100. */
export function overPercent(value: number, limit: number): number {
  if (limit <= 0) return value <= limit ? 0 : 100;
  return value <= limit ? 0 : Math.round(((value - limit) / limit) * 1000) / 10;
}
