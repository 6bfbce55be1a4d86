import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import { stateOf } from './breaker.js';
import type {
  Breaker,
  LayerReading,
  OwnLimits,
  Resolution,
  RunLimits,
  TaskLimits,
  Trip,
  TripKind,
  Verdict,
} from './types.js';

/** Millionths of a US dollar as the wire's dollars. */
export function toUsd(micros: number): number {
  return micros / 1_000_000;
}

/** The smallest limit of a cost: less would be kept as none. */
export const SMALLEST_USD = 0.000001;

/** The wire's dollars as whole millionths, which add up exactly. */
export function toMicros(usd: number): number {
  return Math.round(usd * 1_000_000);
}

/** A layer's value in the unit that users set its limit in. */
export function inUnits(kind: TripKind, value: number): number {
  return kind === 'cost' || kind === 'run_cost' ? toUsd(value) : value;
}

/** A layer's reading on the wire. */
export function layerToWire(layer: LayerReading): JsonObject {
  return {
    kind: layer.kind,
    value: inUnits(layer.kind, layer.value),
    limit: inUnits(layer.kind, layer.limit),
    state: layer.state,
    warned: layer.warned,
  };
}

/** The guard's word on the wire. */
export function verdictToWire(verdict: Verdict): JsonObject {
  return { verdict: verdict.verdict, layers: verdict.layers.map(layerToWire) };
}

/** Effective task limits on the wire. */
export function limitsToWire(limits: TaskLimits): JsonObject {
  return {
    max_reworks: limits.maxReworks,
    max_errors: limits.maxErrors,
    max_tokens: limits.maxTokens,
    max_cost_usd: limits.maxCostMicros === null ? null : toUsd(limits.maxCostMicros),
    max_review_failures: limits.maxReviewFailures,
    max_attempts: limits.maxAttempts,
    max_unblocks: limits.maxUnblocks,
    reassign_after: limits.reassignAfter,
    max_attempt_seconds: limits.maxAttemptSeconds,
  };
}

/** The budgets in force for a run, on the wire. */
export function runLimitsToWire(limits: RunLimits): JsonObject {
  return {
    max_iterations: limits.maxIterations,
    max_run_tokens: limits.maxRunTokens,
    max_run_cost_usd: limits.maxRunCostMicros === null ? null : toUsd(limits.maxRunCostMicros),
  };
}

/** The wire's names of limits. */
const WIRE_NAMES = {
  maxReworks: 'max_reworks',
  maxErrors: 'max_errors',
  maxTokens: 'max_tokens',
  maxCostMicros: 'max_cost_usd',
  maxReviewFailures: 'max_review_failures',
  maxAttempts: 'max_attempts',
  maxUnblocks: 'max_unblocks',
  reassignAfter: 'reassign_after',
  maxAttemptSeconds: 'max_attempt_seconds',
  maxIterations: 'max_iterations',
  maxRunTokens: 'max_run_tokens',
  maxRunCostMicros: 'max_run_cost_usd',
} as const satisfies Record<keyof Required<OwnLimits>, string>;

/** A limit's name on the wire. */
export function limitWireName(name: keyof typeof WIRE_NAMES): string {
  return WIRE_NAMES[name];
}

/** The limits that somebody set, on the wire: only those. */
export function ownLimitsToWire(limits: OwnLimits): JsonObject {
  const wire: JsonObject = {};
  for (const [name, value] of Object.entries(limits)) {
    for (const [known, wireName] of Object.entries(WIRE_NAMES)) {
      if (known === name) wire[wireName] = name.endsWith('Micros') && value !== null ? toUsd(value) : value;
    }
  }
  return wire;
}

/** A trip on the wire. */
export function tripToWire(trip: Trip): JsonObject {
  return {
    id: toWire('trip', trip.id),
    scope: trip.scope,
    kind: trip.kind,
    task_id: trip.taskId === null ? null : toWire('task', trip.taskId),
    run_id: trip.runId === null ? null : toWire('run', trip.runId),
    value: inUnits(trip.kind, trip.value),
    limit: inUnits(trip.kind, trip.limit),
    over_percent: trip.overPercent,
    severity: trip.severity,
    action_required: trip.actionRequired,
    state: trip.state,
    layers: trip.layers.map(layerToWire),
    opened_at: new Date(trip.openedAt).toISOString(),
    closed_at: trip.closedAt === null ? null : new Date(trip.closedAt).toISOString(),
    resolution: trip.resolution === null ? null : resolutionToWire(trip.resolution),
  };
}

function resolutionToWire(resolution: Resolution): JsonObject {
  const { agentId, role } = resolution.by;
  return {
    strategy: resolution.strategy,
    assessment: resolution.assessment,
    reason: resolution.reason,
    changes: resolution.changes,
    by: { agent_id: agentId === null ? null : toWire('agent', agentId), role },
  };
}

/** A breaker on the wire, as it stands now. */
export function breakerToWire(breaker: Breaker, now: number): JsonObject {
  const at = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    id: toWire('breaker', breaker.id),
    scope: breaker.scope,
    agent_id: breaker.agentId === null ? null : toWire('agent', breaker.agentId),
    state: stateOf(breaker, now),
    fingerprint: breaker.fingerprint,
    reason: breaker.reason,
    opened_at: at(breaker.openedAt),
    half_open_at: at(breaker.halfOpenAt),
    openings: breaker.openings,
    probe_task_id: breaker.probe === null ? null : toWire('task', breaker.probe.taskId),
    trip_id: breaker.trip === null ? null : toWire('trip', breaker.trip.id),
  };
}

/** What an event says of a trip. */
export function tripFacts(trip: Trip): JsonObject {
  return {
    trip_id: toWire('trip', trip.id),
    scope: trip.scope,
    kind: trip.kind,
    value: inUnits(trip.kind, trip.value),
    limit: inUnits(trip.kind, trip.limit),
    over_percent: trip.overPercent,
    severity: trip.severity,
    action_required: trip.actionRequired,
    layers: trip.layers.map(layerToWire),
  };
}
