import { z } from 'zod';
import { pageOf } from '../../http/fields.js';
import { RECOVERY_MODES } from './types.js';

const name = z.string().trim().min(1).max(100);

/** Policies that a project may set; null gives one back to the server. */
const policyChanges = z.strictObject({
  fleet_threshold: z
    .int()
    .min(2)
    .max(10_000)
    .nullable()
    .optional()
    .describe('So many tasks failed alike open the breaker of the fleet.'),
  fleet_window_seconds: z.int().min(1).max(86_400).nullable().optional(),
  cooldown_seconds: z
    .int()
    .min(1)
    .max(86_400)
    .nullable()
    .optional()
    .describe('How long an open breaker, or a task that tripped on errors, rests before its probe.'),
  max_auto_recoveries: z.int().min(0).max(100).nullable().optional(),
  error_recovery: z
    .enum(RECOVERY_MODES)
    .nullable()
    .optional()
    .describe('Whether error trips recover by themselves.'),
});

/** The body that makes a project. */
export const createProjectBody = z
  .strictObject({ name })
  .meta({ id: 'ProjectCreate', examples: [{ name: 'website' }] });

/** The body that changes a project; which limits there are is told by the room that owns them. */
export function updateProjectBody<Limits extends z.ZodType>(limits: Limits) {
  return z.strictObject({ limits: limits.optional(), policies: policyChanges.optional() }).meta({
    id: 'ProjectUpdate',
    examples: [{ limits: { max_tokens: 200_000, max_reworks: null }, policies: { cooldown_seconds: 600 } }],
  });
}

/** The limits that a project sets itself, and those in force, as they go out. */
const limitsOut = z.record(z.string(), z.number().nullable());

const projectShape = {
  id: z.string().meta({ examples: ['prj_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b'] }),
  name: z.string(),
  limits: limitsOut.describe('What the project sets itself.'),
  effective_limits: limitsOut.describe('What holds where no task and no run sets its own.'),
  policies: z.object({
    fleet_threshold: z.int().optional(),
    fleet_window_seconds: z.int().optional(),
    cooldown_seconds: z.int().optional(),
    max_auto_recoveries: z.int().optional(),
    error_recovery: z.enum(RECOVERY_MODES).optional(),
  }),
  version: z.int(),
  created_at: z.iso.datetime(),
};

/** A project on the wire. */
export const projectOut = z.object(projectShape).meta({ id: 'Project' });

/** A project that was just made: the only time that its operator's key is told. */
export const newProjectOut = z
  .object({
    ...projectShape,
    api_key: z.string().optional().describe('Told once; a replay comes without it.'),
  })
  .meta({ id: 'NewProject' });

/** A page of projects. */
export const projectListOut = pageOf(projectOut).meta({ id: 'ProjectList' });
