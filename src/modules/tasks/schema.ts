import { z } from 'zod';
import { idIn, pageQuery, timeIn } from '../../http/fields.js';
import type { Json } from '../../kernel/json.js';
import { taskLimits } from '../guard/index.js';
import { ASSESSMENTS } from '../guard/types.js';
import { newRunIn } from '../runs/index.js';
import {
  BLOCK_KINDS,
  CLAIM_PURPOSES,
  LEASE_SECONDS_DEFAULT,
  LEASE_SECONDS_MAX,
  PRIORITY_DEFAULT,
  REPORTED_ERROR_CLASSES,
  REWORK_CLASSES,
  TASK_STATES,
} from './types.js';

const text = (max: number) => z.string().trim().min(1).max(max);
const reason = text(10_000).meta({ examples: ['Criterion 2 is not met: only 20 of 50 posts were fetched.'] });
const count = (max: number) => z.int().min(0).max(max);
const taskShape = {
  title: text(500).meta({ examples: ['Fetch the last 50 posts'] }),
  description: z.string().max(100_000).default(''),
  acceptance: z
    .array(text(2_000))
    .max(100)
    .default([])
    .meta({ description: 'Criteria that the result must meet, one a line.' }),
  priority: z.int().min(0).max(9).default(PRIORITY_DEFAULT).meta({ description: '0 is first, 9 is last.' }),
  labels: z.array(text(100)).max(50).default([]),
  parent_id: idIn('task').nullable().default(null),
  limits: taskLimits.default({}),
  not_before: timeIn.nullable().default(null),
  dedupe_key: text(200).nullable().default(null),
  supersedes: idIn('task').nullable().default(null),
};

export const newTask = z
  .strictObject({
    ...taskShape,
    run_id: idIn('run').nullable().default(null),
    depends_on: z.array(idIn('task')).max(200).default([]),
  })
  .meta({
    examples: [
      {
        title: 'Fetch the last 50 posts',
        acceptance: ['50 posts are stored', 'no post twice'],
        limits: { max_tokens: 200_000 },
      },
    ],
  });

const plannedTask = z.strictObject({
  ...taskShape,
  ref: text(100).meta({ description: "The task's name within this plan." }),
  depends_on: z
    .array(text(200))
    .max(200)
    .default([])
    .meta({ description: 'Refs of this plan, or ids of tasks that are there.' }),
});

export const newPlan = z
  .strictObject({
    run: newRunIn.nullable().default(null),
    run_id: idIn('run').nullable().default(null).meta({
      description: 'A run that is there, instead of a new one in `run`.',
    }),
    tasks: z.array(plannedTask).min(1).max(500),
  })
  .meta({
    examples: [
      {
        run: { name: 'release 12' },
        tasks: [
          { ref: 'crawl', title: 'Fetch the last 50 posts' },
          { ref: 'analyse', title: 'Analyse the posts', depends_on: ['crawl'] },
        ],
      },
    ],
  });

export const taskEdit = z
  .strictObject({
    title: text(500).optional(),
    description: z.string().max(100_000).optional(),
    acceptance: z.array(text(2_000)).max(100).optional(),
    priority: z.int().min(0).max(9).optional(),
    labels: z.array(text(100)).max(50).optional(),
    depends_on: z.array(idIn('task')).max(200).optional(),
    not_before: timeIn.nullable().optional(),
    limits: taskLimits.optional(),
  })
  .meta({ examples: [{ description: 'Twenty posts are enough.' }] });

const expectedState = z.enum(TASK_STATES).optional();
const leaseToken = z.int().min(1).max(2_147_483_647);

export const usage = z
  .strictObject({
    tokens: z
      .strictObject({
        input: count(1_000_000_000).default(0),
        output: count(1_000_000_000).default(0),
        cache_read: count(1_000_000_000).default(0),
        cache_write: count(1_000_000_000).default(0),
      })
      .default({ input: 0, output: 0, cache_read: 0, cache_write: 0 }),
    cost_usd: z.number().min(0).max(1_000_000).default(0),
    iterations: count(100_000).default(0),
    context_tokens: count(1_000_000_000).nullable().default(null),
  })
  .meta({ description: 'An increment, not a total.', examples: [{ tokens: { input: 1_200, output: 300 } }] });

const claimTerms = {
  lease_seconds: z.int().min(1).max(LEASE_SECONDS_MAX).default(LEASE_SECONDS_DEFAULT),
  session_id: idIn('session').nullable().default(null),
  include_brief: z
    .boolean()
    .default(false)
    .describe('Adds the brief as it is when the answer is sent, also when the answer was kept.'),
};

export const claimNext = z
  .strictObject({
    for: z.enum(CLAIM_PURPOSES).optional(),
    labels: z.array(text(100)).max(50).default([]),
    run_id: idIn('run').nullable().default(null),
    max: z.int().min(1).max(20).default(1),
    ...claimTerms,
  })
  .meta({ examples: [{ lease_seconds: 300 }] });

export const claimOne = z
  .strictObject({
    for: z.enum(CLAIM_PURPOSES).optional(),
    expected_state: expectedState,
    ...claimTerms,
  })
  .meta({ examples: [{ lease_seconds: 300 }] });

export const waitQuery = z.strictObject({ wait_seconds: z.coerce.number().int().min(0).max(30).optional() });

export const heartbeat = z
  .strictObject({
    lease_token: leaseToken,
    usage: usage.nullable().default(null),
    expected_state: expectedState,
  })
  .meta({ examples: [{ lease_token: 1 }] });

export const usageReport = z
  .strictObject({
    lease_token: leaseToken.nullable().default(null),
    attempt: z.int().min(1).max(1_000_000).nullable().default(null),
    ...usage.shape,
    expected_state: expectedState,
  })
  .meta({ examples: [{ attempt: 1, tokens: { input: 1_200, output: 300 } }] });

const change = z.strictObject({
  lines: count(10_000_000).default(0),
  files: count(1_000_000).default(0),
  architecture: z.boolean().default(false),
  dependency: z.boolean().default(false),
  external: z.boolean().default(false),
});

export const submission = z
  .strictObject({
    lease_token: leaseToken,
    result: z
      .unknown()
      .optional()
      .meta({ description: 'Text or an object: what was done. Empty is refused.' }),
    usage: usage.nullable().default(null),
    change: change.nullable().default(null),
    expected_state: expectedState,
  })
  .meta({ examples: [{ lease_token: 1, result: '50 posts are in posts.json' }] });

export const failure = z
  .strictObject({
    lease_token: leaseToken,
    error: z.strictObject({
      class: z.enum(REPORTED_ERROR_CLASSES).default('error'),
      message: text(10_000),
      detail: z.unknown().optional(),
    }),
    retry_after_seconds: z.int().min(0).max(86_400).nullable().default(null),
    usage: usage.nullable().default(null),
    expected_state: expectedState,
  })
  .meta({ examples: [{ lease_token: 1, error: { class: 'error', message: 'the feed answered 404' } }] });

export const release = z
  .strictObject({
    lease_token: leaseToken,
    reason: reason.nullable().default(null),
    expected_state: expectedState,
  })
  .meta({ examples: [{ lease_token: 1, reason: 'It needs a tool that I do not have' }] });

export const approval = z
  .strictObject({
    attempt: z.int().min(1).max(1_000_000).nullable().default(null),
    note: text(10_000).nullable().default(null),
    lease_token: leaseToken.nullable().default(null),
    expected_state: expectedState,
  })
  .meta({ examples: [{ attempt: 1, note: 'Every criterion is met' }] });

export const reworkRequest = z
  .strictObject({
    reason,
    class: z.enum(REWORK_CLASSES).default('defect'),
    findings: z
      .array(z.strictObject({ criterion: count(99).nullable().default(null), detail: text(4_000) }))
      .max(100)
      .default([]),
    attempt: z.int().min(1).max(1_000_000).nullable().default(null),
    lease_token: leaseToken.nullable().default(null),
    expected_state: expectedState,
  })
  .meta({
    examples: [
      {
        reason: 'Only 20 of 50 posts were fetched',
        class: 'unmet_criterion',
        findings: [{ criterion: 0, detail: '20 posts' }],
      },
    ],
  });

export const blocking = z
  .strictObject({ kind: z.enum(BLOCK_KINDS), reason, expected_state: expectedState })
  .meta({ examples: [{ kind: 'needs_input', reason: 'Which account should be used?' }] });

export const cancellation = z
  .strictObject({ reason, expected_state: expectedState })
  .meta({ examples: [{ reason: 'No longer wanted' }] });

export const unblocking = z
  .strictObject({
    reason,
    assessment: z.enum(ASSESSMENTS).nullable().default(null),
    changes: z
      .strictObject({
        description: z.string().max(100_000).optional(),
        acceptance: z.array(text(2_000)).max(100).optional(),
        limits: taskLimits.optional(),
        depends_on: z.array(idIn('task')).max(200).optional(),
        excluded_agent_id: idIn('agent').optional(),
        assigned_agent_id: idIn('agent').optional(),
      })
      .default({}),
    reset_tokens: z.boolean().default(false),
    to: z.enum(['pending', 'in_review']).default('pending'),
    expected_state: expectedState,
  })
  .meta({
    examples: [
      {
        reason: 'Twenty posts are enough',
        assessment: 'acceptance_too_high',
        changes: { acceptance: ['20 posts are stored'] },
      },
    ],
  });

export const taskParams = z.strictObject({ id: idIn('task') });

export const taskQuery = z.strictObject({
  ...pageQuery.shape,
  state: z.enum(TASK_STATES).optional(),
  run_id: idIn('run').optional(),
  label: z.string().min(1).max(100).optional(),
  agent_id: idIn('agent').optional(),
  parent_id: idIn('task').optional(),
  q: z.string().min(1).max(200).optional(),
  updated_since: timeIn.optional(),
});

export const claimableQuery = z.strictObject({ for: z.enum(CLAIM_PURPOSES).optional() });

/** What the JSON parser gave is JSON; zod only cannot say so without walking it again. */
export function isJson(value: unknown): value is Json {
  return value !== undefined;
}
