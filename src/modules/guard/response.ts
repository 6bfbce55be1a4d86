import { z } from 'zod';
import { pageOf } from '../../http/fields.js';
import {
  ACTIONS,
  BREAKER_SCOPES,
  BREAKER_STATES,
  LAYER_STATES,
  LAYERS,
  SEVERITIES,
  STRATEGIES,
  TRIP_KINDS,
  TRIP_SCOPES,
  TRIP_STATES,
  VERDICTS,
} from './types.js';

/** The answers of this room as the API description states them. Answers are made by `wire.ts`; a test holds the two together. */
const at = z.iso.datetime();

/** One limit as it stands. */
export const layerReading = z
  .object({
    kind: z.enum(LAYERS),
    value: z.number(),
    limit: z.number(),
    state: z.enum(LAYER_STATES),
    warned: z.boolean(),
  })
  .meta({ id: 'LayerReading' });

/** The guard's word. */
export const guardVerdict = z
  .object({ verdict: z.enum(VERDICTS), layers: z.array(layerReading) })
  .meta({ id: 'GuardVerdict' });

/** A trip on the wire. */
export const trip = z
  .object({
    id: z.string(),
    scope: z.enum(TRIP_SCOPES),
    kind: z.enum(TRIP_KINDS),
    task_id: z.string().nullable(),
    run_id: z.string().nullable(),
    value: z.number(),
    limit: z.number(),
    over_percent: z.number(),
    severity: z.enum(SEVERITIES),
    action_required: z.enum(ACTIONS),
    state: z.enum(TRIP_STATES),
    layers: z.array(layerReading),
    opened_at: at,
    closed_at: at.nullable(),
    resolution: z
      .object({
        strategy: z.enum(STRATEGIES),
        assessment: z.string().nullable(),
        reason: z.string(),
        changes: z.record(z.string(), z.unknown()),
        by: z.object({ agent_id: z.string().nullable(), role: z.string() }),
      })
      .nullable(),
  })
  .meta({ id: 'Trip' });

/** A breaker on the wire. */
export const breakerOut = z
  .object({
    id: z.string(),
    scope: z.enum(BREAKER_SCOPES),
    agent_id: z.string().nullable(),
    state: z.enum(BREAKER_STATES),
    fingerprint: z.string().nullable(),
    reason: z.string().nullable(),
    opened_at: z.iso.datetime().nullable(),
    half_open_at: z.iso.datetime().nullable(),
    openings: z.int(),
    probe_task_id: z.string().nullable(),
    trip_id: z.string().nullable(),
  })
  .meta({ id: 'Breaker' });

/** All breakers of a project. */
export const breakerListOut = pageOf(breakerOut).meta({ id: 'BreakerList' });
