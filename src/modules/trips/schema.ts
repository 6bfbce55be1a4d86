import { z } from 'zod';
import { idIn, pageQuery, timeIn } from '../../http/fields.js';
import { runLimits } from '../guard/index.js';
import { ASSESSMENTS, SEVERITIES, STRATEGIES, TRIP_KINDS, TRIP_SCOPES, TRIP_STATES } from '../guard/types.js';
import { newPlan } from '../tasks/index.js';

/** A task that needs more parts than this wants a plan. */
const PARTS_MAX = 50;

export const tripParams = z.strictObject({ id: idIn('trip') });

export const tripQuery = z.strictObject({
  ...pageQuery.shape,
  state: z.enum(TRIP_STATES).optional(),
  kind: z.enum(TRIP_KINDS).optional(),
  scope: z.enum(TRIP_SCOPES).optional(),
  task_id: idIn('task').optional(),
  run_id: idIn('run').optional(),
  severity: z.enum(SEVERITIES).optional(),
});

const text = (max: number) => z.string().trim().min(1).max(max);

export const recovery = z
  .strictObject({
    strategy: z.enum(STRATEGIES).meta({
      description:
        'reset: counters start again. adjust: the same, with something changed; what is recorded follows from what really changed. split: takes the task apart, it waits for its parts. terminate: cancels the task, closes the run. escalate: leaves it to an operator.',
    }),
    reason: text(10_000),
    assessment: z.enum(ASSESSMENTS).nullable().default(null),
    changes: z
      .strictObject({
        description: z.string().max(100_000).optional(),
        acceptance: z.array(text(2_000)).max(100).optional(),
        limits: runLimits.optional(),
        depends_on: z.array(idIn('task')).max(200).optional(),
        excluded_agent_id: idIn('agent').optional(),
        assigned_agent_id: idIn('agent').optional(),
        deadline_at: timeIn.nullable().optional(),
      })
      .default({})
      .meta({
        description:
          'With adjust or split. Of a run: limits and deadline_at; of a task: all but deadline_at.',
      }),
    reset_tokens: z.boolean().default(false),
    to: z.enum(['pending', 'in_review']).nullable().default(null),
    tasks: newPlan.shape.tasks
      .max(PARTS_MAX)
      .nullable()
      .default(null)
      .meta({ description: 'The parts of a split, like the tasks of a plan.' }),
  })
  .meta({
    examples: [
      {
        strategy: 'adjust',
        reason: 'Twenty posts are enough',
        assessment: 'acceptance_too_high',
        changes: { acceptance: ['20 posts are stored'] },
      },
    ],
  });

const simulatedLimits = runLimits.omit({
  max_unblocks: true,
  reassign_after: true,
  max_attempt_seconds: true,
});

export const simulation = z
  .strictObject({
    limits: simulatedLimits.optional(),
    since: timeIn.optional().meta({ description: 'Nothing is stopped before this moment.' }),
  })
  .meta({ examples: [{ limits: { max_reworks: 3, max_tokens: 50_000 } }] });
