import type { WORDS } from './marks.js';

/** Whoever reads a task sees what was written on it. */
const ON_A_TASK = [
  'answer approve_task',
  'answer block_task',
  'answer cancel_task',
  'answer claim_next_task',
  'answer claim_task',
  'answer create_plan',
  'answer create_task',
  'answer fail_task',
  'answer get_task',
  'answer get_task_brief',
  'answer list_tasks',
  'answer recover_trip',
  'answer release_task',
  'answer report_usage',
  'answer rework_task',
  'answer submit_task',
  'answer unblock_task',
  'answer update_task',
  // The first answer, for whoever asks again with the same key.
  'idempotency_keys.answer',
];

/** What was handed in is for those who work on the task or judge it, and is no fact of the log. */
const OF_AN_ATTEMPT = [
  'answer claim_next_task',
  'answer claim_task',
  'answer get_task_brief',
  'answer list_attempts',
];

/** What a person or an agent gives as a reason is a fact of the log. */
const IN_THE_LOG = [
  'answer list_events',
  'answer list_task_events',
  'answer stream_events',
  'events.data',
  'events.reason',
];

const OF_A_RUN = [
  'answer close_run',
  'answer create_run',
  'answer get_run',
  'answer list_runs',
  'answer recover_run',
  'answer update_run',
];

const OF_A_TRIP = ['answer get_trip', 'answer list_trips', 'answer recover_trip', 'trips.resolution'];

/** Where each thing that agents write may stand. None of it may stand in the log of the process. */
export const MAY_STAND: Readonly<Record<keyof typeof WORDS, readonly string[]>> = {
  projectName: ['projects.name', 'answer create_project', 'answer list_projects', ...IN_THE_LOG],
  agentName: ['agents.name', 'answer create_agent', 'answer list_agents', 'answer get_me', ...IN_THE_LOG],
  runName: ['runs.name', ...OF_A_RUN, ...IN_THE_LOG],
  title: ['tasks.title', 'answer get_trip', ...ON_A_TASK, ...IN_THE_LOG],
  description: ['tasks.description', ...ON_A_TASK],
  acceptance: ['tasks.acceptance', ...ON_A_TASK],
  label: ['tasks.labels', ...ON_A_TASK],
  dedupeKey: ['tasks.dedupe_key', ...ON_A_TASK],
  search: [],
  result: ['attempts.result', ...OF_AN_ATTEMPT],
  lateResult: ['attempts.late_result', ...OF_AN_ATTEMPT],
  errorMessage: ['attempts.error', 'tasks.memory', 'answer get_trip', ...OF_AN_ATTEMPT, ...IN_THE_LOG],
  errorDetail: ['attempts.error', ...OF_AN_ATTEMPT],
  note: ['attempts.verdict', 'tasks.feedback', ...OF_AN_ATTEMPT, ...IN_THE_LOG],
  objection: ['attempts.verdict', 'tasks.feedback', ...OF_AN_ATTEMPT, ...IN_THE_LOG],
  finding: ['attempts.verdict', 'tasks.feedback', ...OF_AN_ATTEMPT, ...IN_THE_LOG],
  blockReason: ['tasks.block_reason', 'problem task_blocked', ...ON_A_TASK, ...IN_THE_LOG],
  releaseReason: IN_THE_LOG,
  unblockReason: [...OF_A_TRIP, ...IN_THE_LOG],
  cancelReason: IN_THE_LOG,
  runReason: [...OF_A_TRIP, ...IN_THE_LOG],
  breakerReason: [
    'breakers.reason',
    'answer close_breaker',
    'answer isolate_breaker',
    'answer list_breakers',
    'problem isolated',
    ...IN_THE_LOG,
  ],
  retryKey: ['idempotency_keys.key'],
  // Made to be found again.
  requestId: ['log', 'events.request_id', 'answer create_task', ...IN_THE_LOG],
};
