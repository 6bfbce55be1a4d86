import type { JsonObject } from '../../kernel/json.js';
import type { Refusal } from '../../kernel/refusal.js';
import { actionFor } from './evaluate.js';
import type { Trip } from './types.js';

/** What is about to be lifted, whether a task's trip or a run's. */
export interface Recovery {
  readonly trip: Trip | null;
  /** How often this task, or run, was recovered before. */
  readonly recoveries: number;
  readonly maxRecoveries: number;
  /** Something about it changed since the trip opened, or changes now. */
  readonly changed: boolean;
  readonly byOperator: boolean;
}

/** Whether only an operator may lift a trip: it is grave, or its recoveries are used up. */
export function mustEscalate({
  trip,
  recoveries,
  maxRecoveries,
}: Pick<Recovery, 'trip' | 'recoveries' | 'maxRecoveries'>): boolean {
  return trip !== null && (trip.severity === 'HIGH' || recoveries >= maxRecoveries);
}

/**
 * Whether a recovery would only be the next turn of the loop: not the first one, and nothing has changed. An operator may go on
 * all the same: it is the person that a planner escalates to, and asking it for a change would leave nobody to say "go on".
 */
export function isSlowLoop({ trip, recoveries, changed, byOperator }: Recovery): boolean {
  return trip !== null && !byOperator && recoveries > 0 && !changed;
}

/** A trip left to an operator, whatever its severity; null when it is an operator's already. */
export function escalated(trip: Trip): Trip | null {
  return trip.severity === 'HIGH' ? null : { ...trip, severity: 'HIGH', actionRequired: actionFor('HIGH') };
}

/** The refusal of a recovery after which nothing would be different. */
export function nothingChanged(): Refusal {
  return {
    code: 'nothing_changed',
    detail:
      'This was already recovered once and nothing about it has changed since it tripped, so it would trip again. Change its description, acceptance, limits, dependencies or agent, in this call or with a PATCH.',
  };
}

/** The refusal of a recovery that would leave a limit crossed. */
export function stillOverLimit(layers: readonly JsonObject[]): Refusal {
  return {
    code: 'still_over_limit',
    detail:
      'It would still be over a limit. Raise that limit in changes.limits, or for tokens send reset_tokens: true.',
    facts: { layers: [...layers] },
  };
}
