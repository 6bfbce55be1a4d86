import { z } from 'zod';
import { idIn, pageOf, timeIn } from '../../http/fields.js';
import { limitsIn, runLimits } from '../guard/index.js';
import { ASSESSMENTS } from '../guard/types.js';
import { ITERATION_MODES, RUN_STATES, RUN_STRATEGIES, type RunStart } from './types.js';

const name = z.string().trim().min(1).max(200);
const reason = z.string().trim().min(1).max(10_000);

export const newRunIn = z
  .strictObject({
    name,
    limits: runLimits.default({}),
    iteration_mode: z.enum(ITERATION_MODES).default('total').meta({
      description:
        'total counts every start of work; since_progress starts again at each approval or first submission.',
    }),
    deadline_at: timeIn.nullable().default(null),
  })
  .meta({ examples: [{ name: 'release 12', limits: { max_iterations: 200 } }] });

export const runEdit = z
  .strictObject({
    name: name.optional(),
    deadline_at: timeIn.nullable().optional(),
    limits: runLimits.optional(),
  })
  .meta({ examples: [{ limits: { max_iterations: 300 } }] });

export const runRecovery = z
  .strictObject({
    reason,
    strategy: z.enum(RUN_STRATEGIES).default('reset').meta({
      description:
        'reset or adjust open the run again; terminate closes it; escalate leaves it to an operator.',
    }),
    assessment: z.enum(ASSESSMENTS).nullable().default(null),
    changes: z
      .strictObject({ limits: runLimits.optional(), deadline_at: timeIn.nullable().optional() })
      .default({}),
    reset_tokens: z.boolean().default(false).meta({ description: "Sets the run's tokens and cost to zero." }),
  })
  .meta({ examples: [{ reason: 'The feed is back', changes: { limits: { max_iterations: 200 } } }] });

export const runClosing = z
  .strictObject({ reason: reason.nullable().default(null) })
  .meta({ examples: [{ reason: 'Release 12 is out' }] });

export const runParams = z.strictObject({ id: idIn('run') });

/** What a new run begins with, in the core's words. */
export function runStartIn(given: z.output<typeof newRunIn>, id: string): RunStart {
  return {
    id,
    name: given.name,
    limits: limitsIn(given.limits),
    iterationMode: given.iteration_mode,
    deadlineAt: given.deadline_at,
  };
}

const at = z.iso.datetime();
const int = z.int().min(0);

export const runOut = z
  .object({
    id: z.string(),
    project_id: z.string(),
    name: z.string(),
    is_default: z.boolean(),
    state: z.enum(RUN_STATES),
    iteration_mode: z.enum(ITERATION_MODES),
    iterations: int,
    limits: z.record(z.string(), z.number().nullable()),
    tokens_used: int,
    cost_usd: z.number(),
    deadline_at: at.nullable(),
    open_trip_id: z.string().nullable(),
    trip_count: int,
    recover_count: int,
    tasks: z.record(z.string(), int),
    version: z.int().min(1),
    created_at: at,
    updated_at: at,
    closed_at: at.nullable(),
  })
  .meta({ id: 'Run' });

export const runListOut = pageOf(runOut).meta({ id: 'RunList' });
