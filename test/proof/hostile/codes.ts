import type { RefusalCode } from '../../../src/kernel/refusal.js';

/** What any call with a key may be answered. The database is there all the time, and rates are not limited. */
const ANY_CALL = [
  'invalid_request',
  'unauthenticated',
  'forbidden_role',
  'uri_too_long',
  'headers_too_large',
  'request_timeout',
] as const;

const WITH_BODY = ['invalid_json', 'too_large', 'unsupported_media_type'] as const;
const WITH_KEY = ['idempotency_key_reused'] as const;
const ON_TASK = ['not_found', 'stale_version', 'invalid_transition'] as const;
const ON_RUN = ['not_found', 'stale_version', 'invalid_transition'] as const;
const STARTS = ['run_tripped', 'run_closed', 'fleet_breaker_open', 'agent_breaker_open', 'isolated'] as const;
const NEW_TASKS = [
  'not_found',
  'duplicate',
  'dependency_cycle',
  'run_closed',
  'escalation_required',
  'nothing_changed',
  'still_over_limit',
  'invalid_transition',
] as const;
const RECOVERS = ['escalation_required', 'nothing_changed', 'still_over_limit'] as const;

/** The refusals that the contract knows of each operation, beside those of any call. */
const CODES: Readonly<Record<string, readonly RefusalCode[]>> = {
  create_agent: ['duplicate'],
  list_agents: [],
  create_agent_key: ['not_found'],
  revoke_agent_key: ['not_found', ...WITH_BODY],
  list_breakers: [],
  close_breaker: ['not_found'],
  isolate_breaker: ['not_found'],
  list_events: [],
  stream_events: [],
  check_invariants: ['overloaded'],
  get_me: [],
  create_plan: NEW_TASKS,
  create_project: ['duplicate'],
  list_projects: [],
  get_project: [],
  update_project: ['stale_version', 'version_required'],
  simulate: ['overloaded'],
  get_recovery_stats: [],
  create_run: [],
  list_runs: [],
  update_run: [...ON_RUN, 'version_required', 'run_closed'],
  get_run: ['not_found'],
  close_run: [...ON_RUN, 'run_closed'],
  recover_run: [...ON_RUN, ...RECOVERS, 'run_closed'],
  create_task: NEW_TASKS,
  list_tasks: [],
  claim_next_task: ['not_found', ...STARTS],
  look_at_claimable: [],
  update_task: [...ON_TASK, 'version_required', 'dependency_cycle', 'task_blocked'],
  get_task: ['not_found'],
  approve_task: [
    ...ON_TASK,
    'self_review',
    'stale_attempt',
    'verdict_already_recorded',
    'already_claimed',
    'lease_lost',
    'task_blocked',
  ],
  rework_task: [
    ...ON_TASK,
    'self_review',
    'stale_attempt',
    'verdict_already_recorded',
    'already_claimed',
    'lease_lost',
    'task_blocked',
  ],
  list_attempts: ['not_found'],
  block_task: [...ON_TASK, 'task_blocked'],
  get_task_brief: ['not_found'],
  cancel_task: ON_TASK,
  claim_task: [
    ...ON_TASK,
    ...STARTS,
    'self_review',
    'already_claimed',
    'task_blocked',
    'dependency_unmet',
    'not_yet_due',
    'excluded_agent',
  ],
  list_task_events: ['not_found'],
  fail_task: [...ON_TASK, 'lease_lost', 'task_blocked'],
  get_task_guard: ['not_found'],
  heartbeat_task: [...ON_TASK, 'lease_lost'],
  release_task: [...ON_TASK, 'lease_lost', 'task_blocked'],
  submit_task: [...ON_TASK, 'lease_lost', 'empty_result', 'task_blocked'],
  unblock_task: [...ON_TASK, ...RECOVERS, 'dependency_cycle'],
  report_usage: [...ON_TASK, 'lease_lost', 'stale_attempt'],
  list_trips: [],
  get_trip: ['not_found'],
  recover_trip: [...ON_TASK, ...RECOVERS, ...NEW_TASKS],
};

/** The codes that an operation may be refused with; it must stand in the table. */
export function codesOf(id: string, method: string): ReadonlySet<string> {
  const own = CODES[id];
  if (own === undefined) throw new Error(`nobody has said which refusals ${id} has`);
  const written = method === 'POST' || method === 'PATCH' ? [...WITH_BODY, ...WITH_KEY] : [];
  return new Set<string>([...ANY_CALL, ...written, ...own]);
}
