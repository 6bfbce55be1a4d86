import { z } from 'zod';
import { pageOf } from '../../http/fields.js';
import { trip } from '../guard/index.js';
import { LAYER_STATES, LAYERS, STRATEGIES } from '../guard/types.js';
import { runOut } from '../runs/index.js';
import { taskAnswer } from '../tasks/index.js';
import { DIAGNOSES } from './types.js';

/** The answers of this room as the API description states them; a test holds them against what is sent. */
const at = z.iso.datetime();
const int = z.int().min(0);

const diagnosis = z
  .object({
    code: z.enum(DIAGNOSES),
    explanation: z.string(),
    attempts: z.array(int).meta({ description: 'The numbers of the attempts that prove it.' }),
  })
  .meta({ id: 'Diagnosis' });

const recommendation = z
  .object({
    strategy: z.enum(STRATEGIES),
    basis: z.enum(['history', 'default']).meta({
      description: 'default: fewer than five ends are known, so the fixed strategy for the diagnosis.',
    }),
    success_rate: z.number().nullable(),
    sample: int,
    why: z.string(),
  })
  .meta({ id: 'Recommendation' });

const nextCall = z.object({
  why: z.string(),
  method: z.string(),
  path: z.string(),
  role: z.string().nullable(),
  body: z.record(z.string(), z.unknown()).nullable().meta({ description: 'Can be sent as it is.' }),
});

const report = z
  .object({
    generated_at: at,
    breaker_type: z.string(),
    severity: z.string(),
    action_required: z.string(),
    about: z.string().nullable(),
    layers: z.array(
      z.object({
        kind: z.enum(LAYERS),
        value: z.number(),
        limit: z.number(),
        state: z.enum(LAYER_STATES),
        over_percent: z.number(),
      }),
    ),
    errors: z.object({
      total: int,
      by_class: z.record(z.string(), int),
      fingerprints: z.array(z.object({ fingerprint: z.string(), count: int })),
    }),
    timeline: z.object({
      entries: z.array(
        z.object({
          at,
          agent_id: z.string().nullable(),
          agent: z.string().nullable(),
          role: z.string(),
          event: z.string(),
          task_id: z.string().nullable(),
          attempt: int.nullable(),
          text: z.string(),
        }),
      ),
      cut: z.boolean(),
      omitted: int.meta({ description: 'How many earlier events are left out.' }),
    }),
    diagnosis,
    other_diagnoses: z.array(diagnosis),
    recommendation: recommendation.nullable(),
    next_actions: z.array(nextCall),
  })
  .meta({ id: 'TripReport' });

export const tripWithReport = trip.extend({ report }).meta({ id: 'TripWithReport' });

export const tripList = pageOf(trip).meta({ id: 'TripList' });

export const recovered = z
  .object({ trip, task: taskAnswer.optional(), run: runOut.optional() })
  .meta({ id: 'Recovered' });

export const recoveryStats = z
  .object({
    data: z.array(
      z.object({
        kind: z.string(),
        diagnosis: z.enum(DIAGNOSES),
        strategy: z.string(),
        resolutions: int,
        succeeded: int,
        failed: int,
        rate: z.number().nullable(),
      }),
    ),
    sample_min: int.meta({ description: 'So many known ends make a rate worth recommending by.' }),
    looked_at: int.meta({ description: 'How many closed trips were looked at most: the last ones.' }),
  })
  .meta({ id: 'RecoveryStats' });

const proposal = z
  .object({
    limits: z.record(z.string(), z.number()).meta({ description: 'Can be sent as limits, as it is.' }),
    basis: z.record(z.string(), z.object({ p95: z.number().nullable(), sample: int })),
    sample: int.meta({ description: 'How many finished tasks it rests on.' }),
    small_sample: z.boolean(),
    note: z.string(),
  })
  .meta({ id: 'ProposedLimits' });

export const simulation = z
  .object({
    stopped: z
      .array(
        z.object({
          task_id: z.string().optional(),
          run_id: z.string().optional(),
          kind: z.enum(LAYERS),
          at,
          value: z.number(),
          limit: z.number(),
        }),
      )
      .meta({ description: 'In order, the first 1,000.' }),
    stopped_count: int,
    saved: z.object({ iterations: int, reworks: int, tokens: int, cost_usd: z.number() }),
    read_events: int,
    proposal: proposal.nullable(),
  })
  .meta({ id: 'Simulation' });
