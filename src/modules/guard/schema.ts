import { z } from 'zod';
import { defined } from '../../kernel/defined.js';
import { LIMIT_CEILINGS } from './limits.js';
import { SMALLEST_USD, toMicros, toUsd } from './wire.js';

const limit = (max: number) => z.int().min(1).max(max);
const usd = (maxMicros: number) => z.number().min(SMALLEST_USD).max(toUsd(maxMicros));

const taskLimitShape = {
  max_reworks: limit(LIMIT_CEILINGS.maxReworks).optional(),
  max_errors: limit(LIMIT_CEILINGS.maxErrors).optional(),
  max_tokens: limit(LIMIT_CEILINGS.maxTokens).optional(),
  max_cost_usd: usd(LIMIT_CEILINGS.maxCostMicros ?? 0)
    .nullable()
    .optional(),
  max_review_failures: limit(LIMIT_CEILINGS.maxReviewFailures).optional(),
  max_attempts: limit(LIMIT_CEILINGS.maxAttempts).optional(),
  max_unblocks: limit(LIMIT_CEILINGS.maxUnblocks).optional(),
  reassign_after: limit(LIMIT_CEILINGS.reassignAfter).optional(),
  max_attempt_seconds: limit(LIMIT_CEILINGS.maxAttemptSeconds).optional(),
};

/** Limits that a task may set of its own. */
export const taskLimits = z.strictObject(taskLimitShape).meta({ examples: [{ max_tokens: 200_000 }] });

/** Limits that a run may set: budgets of its own, and defaults for its tasks. */
export const runLimits = z.strictObject({
  ...taskLimitShape,
  max_iterations: limit(LIMIT_CEILINGS.maxIterations).optional(),
  max_run_tokens: limit(LIMIT_CEILINGS.maxRunTokens ?? 1)
    .nullable()
    .optional(),
  max_run_cost_usd: usd(LIMIT_CEILINGS.maxRunCostMicros ?? 0)
    .nullable()
    .optional(),
});

/** Limits in the core's words: only those that were given. */
export function limitsIn(given: z.output<typeof runLimits>) {
  const micros = (value: number | null | undefined) =>
    value === undefined || value === null ? value : toMicros(value);
  return defined({
    maxReworks: given.max_reworks,
    maxErrors: given.max_errors,
    maxTokens: given.max_tokens,
    maxCostMicros: micros(given.max_cost_usd),
    maxReviewFailures: given.max_review_failures,
    maxAttempts: given.max_attempts,
    maxUnblocks: given.max_unblocks,
    reassignAfter: given.reassign_after,
    maxAttemptSeconds: given.max_attempt_seconds,
    maxIterations: given.max_iterations,
    maxRunTokens: given.max_run_tokens,
    maxRunCostMicros: micros(given.max_run_cost_usd),
  });
}
