import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import type { RunLimits, TaskLimits } from '../guard/types.js';
import { limitsToWire, ownLimitsToWire, runLimitsToWire, toUsd } from '../guard/wire.js';
import type { Run } from './types.js';

function maybeTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** A run on the wire, with the limits in force for it and, as defaults, for its tasks. */
export function runToWire(run: Run, limits: RunLimits, taskLimits: TaskLimits): JsonObject {
  return {
    id: toWire('run', run.id),
    project_id: toWire('project', run.projectId),
    name: run.name,
    is_default: run.isDefault,
    state: run.state,
    iteration_mode: run.iterationMode,
    iterations: run.iterations,
    limits: {
      ...runLimitsToWire(limits),
      ...limitsToWire(taskLimits),
    },
    tokens_used: run.tokensUsed,
    cost_usd: toUsd(run.costMicros),
    deadline_at: maybeTime(run.deadlineAt),
    open_trip_id: run.memory.trip === null ? null : toWire('trip', run.memory.trip.id),
    trip_count: run.tripCount,
    recover_count: run.recoverCount,
    tasks: Object.fromEntries(Object.entries(run.taskCounts).filter(([, count]) => count > 0)),
    version: run.version,
    created_at: new Date(run.createdAt).toISOString(),
    updated_at: new Date(run.updatedAt).toISOString(),
    closed_at: maybeTime(run.closedAt),
  };
}

/** What an event says of a run's own rules: enough to read its budgets from the log alone. */
export function runFacts(run: Run): JsonObject {
  return {
    name: run.name,
    iteration_mode: run.iterationMode,
    limits: ownLimitsToWire(run.limits),
    deadline_at: maybeTime(run.deadlineAt),
  };
}
