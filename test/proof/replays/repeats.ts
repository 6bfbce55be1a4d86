import type { EventType } from '../../../src/kernel/event.js';

/**
 * What a second copy of a command does that comes without an Idempotency-Key: with one, the first answer is given again
 * and nothing happens.
 *
 * - `once`: the machine refuses it, with one of these codes; `nothing` is the empty answer of a claim.
 * - `same`: it is answered as the first was, and nothing happens.
 * - `again`: it happens again. Only for what is meant to be sent often, or makes something new each time.
 * - `reads`: it never changes anything; so many at once may be too much, which is the code.
 */
export interface Repeat {
  readonly second: 'once' | 'same' | 'again' | 'reads';
  readonly codes: readonly string[];
  /** The facts, one of which stands in a log each time that it happens. */
  readonly facts: readonly EventType[];
}

const once = (facts: EventType, ...codes: string[]): Repeat => ({ second: 'once', codes, facts: [facts] });
const same = (...facts: EventType[]): Repeat => ({ second: 'same', codes: [], facts });
const again = (...facts: EventType[]): Repeat => ({ second: 'again', codes: [], facts });

/** Every call that may carry an Idempotency-Key. */
export const REPEATS: Readonly<Record<string, Repeat>> = {
  'POST /v1/projects': once('project.created', 'duplicate'),
  'PATCH /v1/projects/current': once('project.updated', 'stale_version'),
  'POST /v1/projects/current/simulate': { second: 'reads', codes: ['overloaded'], facts: [] },
  'POST /v1/agents': once('agent.created', 'duplicate'),
  'POST /v1/agents/{id}/keys': again('key.created'),
  'POST /v1/breakers/{id}/isolate': again('breaker.isolated'),
  'POST /v1/breakers/{id}/close': same('breaker.closed'),

  'POST /v1/runs': again('run.created'),
  'PATCH /v1/runs/{id}': once('run.updated', 'stale_version'),
  'POST /v1/runs/{id}/recover': once('run.recovered', 'invalid_transition'),
  'POST /v1/runs/{id}/close': once('run.closed', 'run_closed'),

  'POST /v1/tasks': again('task.created'),
  'POST /v1/plans': again('run.created'),
  'PATCH /v1/tasks/{id}': once('task.updated', 'stale_version'),
  'POST /v1/tasks/claim': once('task.claimed', 'nothing'),
  'POST /v1/tasks/{id}/claim': same('task.claimed', 'task.review_claimed'),
  'POST /v1/tasks/{id}/heartbeat': again('task.usage_reported'),
  'POST /v1/tasks/{id}/usage': again('task.usage_reported'),
  'POST /v1/tasks/{id}/submit': once('task.submitted', 'invalid_transition'),
  'POST /v1/tasks/{id}/fail': once('task.failed', 'lease_lost'),
  'POST /v1/tasks/{id}/release': once('task.released', 'lease_lost'),
  'POST /v1/tasks/{id}/approve': once('task.approved', 'verdict_already_recorded'),
  'POST /v1/tasks/{id}/rework': once('task.rework_requested', 'verdict_already_recorded'),
  'POST /v1/tasks/{id}/block': once('task.blocked', 'task_blocked'),
  'POST /v1/tasks/{id}/unblock': once('task.unblocked', 'invalid_transition'),
  'POST /v1/tasks/{id}/cancel': once('task.cancelled', 'invalid_transition'),
  'POST /v1/trips/{id}/recover': once('task.unblocked', 'invalid_transition'),
};
