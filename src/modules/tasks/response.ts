import { z } from 'zod';
import { guardVerdict, layerReading, trip } from '../guard/index.js';
import { LIMIT_ORIGINS } from '../guard/limits.js';
import { LAYERS, TASK_LAYERS, VERDICTS } from '../guard/types.js';
import {
  BLOCK_KINDS,
  CLAIM_PURPOSES,
  ERROR_CLASSES,
  OUTCOMES,
  REWORK_CLASSES,
  TASK_STATES,
} from './types.js';

/** The answers of this room as the API description states them. Answers are made by `wire.ts`; a test holds the two together. */
const at = z.iso.datetime();
const maybeAt = at.nullable();
const int = z.int().min(0);

const effectiveLimits = z
  .object({
    max_reworks: int,
    max_errors: int,
    max_tokens: int,
    max_cost_usd: z.number().nullable(),
    max_review_failures: int,
    max_attempts: int,
    max_unblocks: int,
    reassign_after: int,
    max_attempt_seconds: int,
  })
  .meta({ id: 'TaskLimits' });

const tokens = z
  .object({ input: int, output: int, cache_read: int, cache_write: int })
  .meta({ id: 'Tokens' });

const taskShape = {
  id: z.string(),
  project_id: z.string(),
  run_id: z.string(),
  title: z.string(),
  description: z.string(),
  acceptance: z.array(z.string()),
  priority: z.int().min(0).max(9),
  labels: z.array(z.string()),
  state: z.enum(TASK_STATES),
  block_reason: z
    .object({
      kind: z.enum([...BLOCK_KINDS, ...TASK_LAYERS]),
      reason: z.string(),
    })
    .nullable(),
  claimed_by: z.string().nullable(),
  lease_expires_at: maybeAt,
  attempt: int,
  rework_count: int,
  rework_total: int,
  error_count: int,
  error_total: int,
  review_failures: int,
  tokens_used: int,
  tokens,
  cost_usd: z.number(),
  limits: effectiveLimits,
  unblock_count: int,
  trip_count: int,
  open_trip_id: z.string().nullable(),
  depends_on: z.array(z.string()),
  parent_id: z.string().nullable(),
  supersedes: z.string().nullable(),
  superseded_by: z.string().nullable(),
  dedupe_key: z.string().nullable(),
  not_before: maybeAt,
  version: z.int().min(1),
  created_at: at,
  updated_at: at,
  finished_at: maybeAt,
};

export const task = z.object(taskShape).meta({ id: 'Task' });

const extras = { guard: guardVerdict, trip: trip.optional(), warnings: z.array(layerReading).optional() };

export const taskAnswer = z.object({ ...taskShape, ...extras }).meta({ id: 'TaskAnswer' });

export const planAnswer = z
  .object({ run_id: z.string().nullable(), tasks: z.array(taskAnswer) })
  .meta({ id: 'PlanAnswer' });

const verdict = z
  .object({
    by: z.string(),
    at,
    approved: z.boolean(),
    reason: z.string().nullable(),
    class: z.enum(REWORK_CLASSES).nullable(),
    findings: z.array(z.object({ criterion: int.nullable(), detail: z.string() })),
  })
  .meta({ id: 'Verdict' });

export const attempt = z
  .object({
    number: int,
    agent_id: z.string(),
    claimed_at: at,
    ended_at: maybeAt,
    outcome: z.enum(OUTCOMES),
    result: z.unknown(),
    late_result: z.unknown(),
    error: z
      .object({
        class: z.enum(ERROR_CLASSES),
        message: z.string(),
        fingerprint: z.string(),
        detail: z.unknown(),
      })
      .nullable(),
    usage: z.object({ tokens, cost_usd: z.number(), iterations: int }),
    verdict: verdict.nullable(),
  })
  .meta({ id: 'Attempt' });

export const brief = z
  .object({
    task,
    attempts: z.array(attempt),
    budgets: z.array(z.object({ kind: z.enum(LAYERS), left: z.number(), limit: z.number() })),
    guard: guardVerdict,
  })
  .meta({ id: 'Brief' });

export const claim = z
  .object({
    task,
    attempt: int,
    purpose: z.enum(CLAIM_PURPOSES),
    lease_token: z.int().min(1),
    lease_expires_at: at,
    feedback: verdict.nullable(),
    guard: guardVerdict,
    context: z.null(),
    brief: brief.optional(),
    trip: trip.optional(),
    warnings: z.array(layerReading).optional(),
  })
  .meta({ id: 'Claim' });

export const claims = z
  .object({ claims: z.array(claim), warnings: z.array(layerReading).optional() })
  .meta({ id: 'Claims' });

export const directive = z
  .object({
    directive: z.enum(['continue', 'stop']),
    reason: z.string().optional(),
    lease_expires_at: maybeAt,
    guard: guardVerdict,
    warnings: z.array(layerReading).optional(),
  })
  .meta({ id: 'Directive' });

export const claimable = z
  .object({
    for: z.enum(CLAIM_PURPOSES),
    claimable: int,
    in_progress: int,
    in_review: int,
    why_not: z.record(z.string(), int),
    next_ready_at: maybeAt,
    counted_all: z.boolean(),
  })
  .meta({ id: 'Claimable' });

export const guardReading = z
  .object({
    task_id: z.string(),
    state: z.enum(TASK_STATES),
    verdict: z.enum(VERDICTS),
    layers: z.array(layerReading),
    limits: z.record(z.string(), z.object({ value: z.number().nullable(), from: z.enum(LIMIT_ORIGINS) })),
    trip: trip.nullable(),
    run_trip: trip.nullable(),
  })
  .meta({ id: 'GuardReading' });
