import { EVENT_TYPES } from '../../src/kernel/event.js';
import { code, table } from './marks.js';

/** What an event of one type says. */
export interface EventText {
  readonly when: string;
  /** The members of its `data`; those with a question mark only where they apply. */
  readonly data: readonly string[];
}

const TRIP = [
  'trip_id',
  'scope',
  'kind',
  'value',
  'limit',
  'over_percent',
  'severity',
  'action_required',
  'layers',
];

/** What a trip of a breaker says, too. */
const ALWAYS: ReadonlySet<string> = new Set(['trip_id', 'kind']);

const BREAKER = [
  'id',
  'scope',
  'agent_id',
  'state',
  'fingerprint',
  'reason',
  'opened_at',
  'half_open_at',
  'openings',
  'probe_task_id',
  'trip_id',
];

/** Every type of event. */
export const EVENT_TEXTS: Readonly<Record<string, EventText>> = {
  'project.created': { when: 'a project was made', data: ['project_id', 'name'] },
  'project.updated': { when: 'limits or policies of the project were changed', data: ['limits', 'policies'] },
  'agent.created': { when: 'an agent was added', data: ['agent_id', 'name', 'roles'] },
  'key.created': { when: 'an agent got a key', data: ['agent_id', 'key_id'] },
  'key.revoked': { when: 'a key was revoked', data: ['agent_id', 'key_id'] },
  'run.created': { when: 'a run was begun', data: ['name', 'limits', 'iteration_mode?', 'deadline_at?'] },
  'run.updated': {
    when: 'name, budgets or deadline of a run were changed',
    data: ['changed', 'name', 'iteration_mode', 'limits', 'deadline_at'],
  },
  'run.closed': { when: 'a run was ended', data: [] },
  'run.tripped': { when: 'a run reached a budget: nothing in it starts', data: [] },
  'run.recovered': {
    when: 'a tripped run was opened again',
    data: ['assessment', 'changes', 'changed', 'was'],
  },
  'task.created': {
    when: 'a task was created',
    data: ['title', 'priority', 'run_id', 'limits', 'depends_on', 'supersedes'],
  },
  'task.updated': { when: 'what a task says was changed', data: ['changed'] },
  'task.claimed': { when: 'an executor took a task', data: ['attempt', 'lease_seconds', 'lease_expires_at'] },
  'task.review_claimed': {
    when: 'a reviewer took a task to judge it',
    data: ['attempt', 'lease_seconds', 'lease_expires_at'],
  },
  'task.usage_reported': {
    when: 'tokens, cost or iterations were reported',
    data: ['attempt', 'usage', 'review?'],
  },
  'task.submitted': { when: 'a result was handed in', data: ['attempt', 'outcome', 'result_hash', 'usage?'] },
  'task.failed': {
    when: 'an attempt failed',
    data: ['attempt', 'error', 'counted', 'usage?', 'retry_after_seconds'],
  },
  'task.released': { when: 'a task was given back', data: ['attempt'] },
  'task.lease_expired': {
    when: 'a holder was not heard of in time',
    data: ['attempt', 'holder', 'lease_expires_at'],
  },
  'task.review_released': { when: 'a review was given back', data: ['attempt'] },
  'task.review_expired': {
    when: 'a reviewer was not heard of in time',
    data: ['attempt', 'holder', 'lease_expires_at'],
  },
  'task.review_failed': { when: 'a reviewer could not judge, for want of infrastructure', data: ['attempt'] },
  'task.approved': { when: 'a result was accepted', data: ['attempt'] },
  'task.rework_requested': {
    when: 'a result was sent back',
    data: ['attempt', 'class', 'executor_id', 'findings'],
  },
  'task.blocked': {
    when: 'a task was stopped, by hand, by a limit or by a dependency that was cancelled',
    data: ['kind', 'depends_on?'],
  },
  'task.unblocked': { when: 'a block was lifted', data: ['assessment', 'changes', 'changed', 'was'] },
  'task.cancelled': { when: 'a task was given up', data: ['by'] },
  'task.late_result': {
    when: 'somebody who no longer holds the task handed something in; it is kept',
    data: ['attempt', 'outcome', 'result_hash?', 'error?', 'usage?'],
  },
  'guard.warned': {
    when: 'a layer passed its warning line',
    data: ['kind', 'value', 'limit', 'state', 'warned'],
  },
  'guard.refused': {
    when: 'an agent was refused because of an open trip, the first time it asked',
    data: ['code', 'refused_command', 'trip_id', 'kind'],
  },
  'breaker.opened': { when: 'failures that are alike opened a breaker, or its probe failed', data: BREAKER },
  'breaker.probed': { when: 'one attempt was let through to try', data: BREAKER },
  'breaker.closed': { when: 'a probe succeeded, or an operator closed the breaker', data: BREAKER },
  'breaker.isolated': { when: 'an operator held a breaker open', data: BREAKER },
  'task.auto_recovered': {
    when: 'a task that its errors had blocked was given one more attempt, after the cooldown',
    data: ['kind', 'recoveries'],
  },
  'trip.opened': {
    when: 'a limit was reached, or a breaker above tasks opened (then with the members of `breaker.opened`)',
    data: [...TRIP.map((name) => (ALWAYS.has(name) ? name : `${name}?`)), 'reopened?'],
  },
  'trip.escalated': { when: 'an open trip became HIGH, or was handed to an operator', data: TRIP },
  'trip.resolved': { when: 'a trip was closed', data: [...TRIP, 'strategy', 'assessment', 'changes'] },
};

/** Every type of event, with the facts in its `data`. */
export function eventTable(): string {
  const untold = EVENT_TYPES.filter((type) => EVENT_TEXTS[type] === undefined);
  if (untold.length > 0) throw new Error(`the documentation says nothing about ${untold.join(', ')}`);
  return table(
    ['type', 'when', 'data'],
    EVENT_TYPES.map((type) => {
      const { when = '', data = [] } = EVENT_TEXTS[type] ?? {};
      return [code(type), when, data.length === 0 ? '–' : data.map(code).join(', ')];
    }),
  );
}
