import type { JsonObject } from '../../kernel/json.js';
import type { OwnLimits, RunLimits, TaskLimits } from './types.js';

/** Who set a limit that is in force. */
export const LIMIT_ORIGINS = ['task', 'run', 'project', 'server'] as const;
export type LimitOrigin = (typeof LIMIT_ORIGINS)[number];

/** The server's own limits: the last word where nobody else has set one. */
export type ServerLimits = TaskLimits & RunLimits;

/** The highest value anybody may set; the lowest is 1. */
export const LIMIT_CEILINGS: { readonly [name in keyof ServerLimits]: number } = {
  maxReworks: 100,
  maxErrors: 100,
  maxTokens: 1_000_000_000,
  maxCostMicros: 1_000_000_000_000,
  maxReviewFailures: 100,
  maxAttempts: 1_000,
  maxUnblocks: 100,
  reassignAfter: 100,
  maxAttemptSeconds: 604_800,
  maxIterations: 1_000_000_000,
  maxRunTokens: 1_000_000_000_000,
  maxRunCostMicros: 1_000_000_000_000_000,
};

/** The limits in force for a task: its own, else its run's, else the project's, else the server's. */
export function effectiveLimits(
  task: OwnLimits,
  run: OwnLimits,
  project: OwnLimits,
  server: ServerLimits,
): TaskLimits {
  return { ...server, ...project, ...run, ...task };
}

/** The budgets in force for a run. */
export function effectiveRunLimits(run: OwnLimits, project: OwnLimits, server: ServerLimits): RunLimits {
  return { ...server, ...project, ...run };
}

/** Where a limit in force comes from. */
export function originOf(
  name: keyof ServerLimits,
  task: OwnLimits,
  run: OwnLimits,
  project: OwnLimits,
): LimitOrigin {
  if (task[name] !== undefined) return 'task';
  if (run[name] !== undefined) return 'run';
  return project[name] !== undefined ? 'project' : 'server';
}

/** Limits that need not be there: null lifts them. */
export function isOptionalLimit(
  name: keyof ServerLimits,
): name is 'maxCostMicros' | 'maxRunTokens' | 'maxRunCostMicros' {
  return name === 'maxCostMicros' || name === 'maxRunTokens' || name === 'maxRunCostMicros';
}

/** Limits as a project stores them. What is no limit, or no longer one, is left out. */
export function ownLimitsOf(stored: JsonObject): OwnLimits {
  const limits: { -readonly [name in keyof OwnLimits]: OwnLimits[name] } = {};
  for (const name of limitNames()) {
    const value = stored[name];
    if (typeof value === 'number') limits[name] = value;
    else if (value === null && isOptionalLimit(name)) limits[name] = null;
  }
  return limits;
}

/** Every limit by its name in the core. */
export function limitNames(): (keyof ServerLimits)[] {
  const known = (name: string): name is keyof ServerLimits => Object.hasOwn(LIMIT_CEILINGS, name);
  return Object.keys(LIMIT_CEILINGS).filter(known);
}
