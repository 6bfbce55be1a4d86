import type { Json } from '../../kernel/json.js';
import type { OwnTaskLimits } from '../guard/types.js';
import type {
  Attempt,
  AttemptError,
  BlockKind,
  Change,
  ClaimPurpose,
  Outcome,
  Task,
  TaskMemory,
  TaskState,
  Usage,
  Verdict,
} from './types.js';

/** Rows of the first release know no last review. */
type StoredMemory = Omit<TaskMemory, 'lastReview'> & Partial<Pick<TaskMemory, 'lastReview'>>;

/** A row of `tasks`, as the statements of this room select it. */
export interface TaskRow {
  id: string;
  project_id: string;
  run_id: string;
  parent_id: string | null;
  supersedes: string | null;
  superseded_by: string | null;
  dedupe_key: string | null;
  title: string;
  description: string;
  acceptance: string[];
  priority: number;
  labels: string[];
  depends_on: string[];
  unmet: number;
  has_dependants: boolean;
  limits: OwnTaskLimits;
  not_before: Date | null;
  state: TaskState;
  ready_at: Date;
  block_kind: BlockKind | null;
  block_reason: string | null;
  claimed_by: string | null;
  lease_kind: ClaimPurpose | null;
  lease_agent: string | null;
  lease_token: number;
  lease_seconds: number | null;
  lease_started_at: Date | null;
  lease_expires_at: Date | null;
  attempt: number;
  rework_count: number;
  rework_total: number;
  error_count: number;
  error_total: number;
  review_failures: number;
  attempts_since_unblock: number;
  tokens_used: number;
  tokens_input: number;
  tokens_output: number;
  tokens_cache_read: number;
  tokens_cache_write: number;
  cost_micros: number;
  unblock_count: number;
  trip_count: number;
  event_number: number;
  memory: StoredMemory;
  feedback: Verdict | null;
  version: number;
  created_at: Date;
  updated_at: Date;
  finished_at: Date | null;
}

/** The task in a row. */
export function taskOf(row: TaskRow): Task {
  return {
    id: row.id,
    projectId: row.project_id,
    runId: row.run_id,
    parentId: row.parent_id,
    supersedes: row.supersedes,
    supersededBy: row.superseded_by,
    dedupeKey: row.dedupe_key,
    title: row.title,
    description: row.description,
    acceptance: row.acceptance,
    priority: row.priority,
    labels: row.labels,
    dependsOn: row.depends_on,
    unmet: row.unmet,
    hasDependants: row.has_dependants,
    limits: row.limits,
    notBefore: row.not_before?.getTime() ?? null,
    state: row.state,
    readyAt: row.ready_at.getTime(),
    block: row.block_kind === null ? null : { kind: row.block_kind, reason: row.block_reason ?? '' },
    claimedBy: row.claimed_by,
    lease: leaseOf(row),
    leaseToken: row.lease_token,
    attempt: row.attempt,
    counters: {
      reworkCount: row.rework_count,
      reworkTotal: row.rework_total,
      errorCount: row.error_count,
      errorTotal: row.error_total,
      reviewFailures: row.review_failures,
      attemptsSinceUnblock: row.attempts_since_unblock,
      tokensUsed: row.tokens_used,
      costMicros: row.cost_micros,
      tokens: {
        input: row.tokens_input,
        output: row.tokens_output,
        cacheRead: row.tokens_cache_read,
        cacheWrite: row.tokens_cache_write,
      },
      unblockCount: row.unblock_count,
      tripCount: row.trip_count,
    },
    eventNumber: row.event_number,
    memory: { ...row.memory, lastReview: row.memory.lastReview ?? null },
    feedback: row.feedback,
    version: row.version,
    createdAt: row.created_at.getTime(),
    updatedAt: row.updated_at.getTime(),
    finishedAt: row.finished_at?.getTime() ?? null,
  };
}

function leaseOf(row: TaskRow): Task['lease'] {
  const {
    lease_kind: kind,
    lease_agent: agentId,
    lease_seconds: seconds,
    lease_started_at: started,
    lease_expires_at: expires,
  } = row;
  if (kind === null || agentId === null || seconds === null || started === null || expires === null)
    return null;
  return {
    kind,
    agentId,
    token: row.lease_token,
    seconds,
    startedAt: started.getTime(),
    expiresAt: expires.getTime(),
  };
}

/** A row of `attempts`. */
export interface AttemptRow {
  task_id: string;
  number: number;
  agent_id: string;
  lease_token: number;
  session_id: string | null;
  claimed_at: Date;
  ended_at: Date | null;
  outcome: Outcome;
  result: Json;
  result_hash: string | null;
  late_result: Json;
  error: AttemptError | null;
  usage: Usage;
  change: Change | null;
  verdict: Verdict | null;
}

/** The attempt in a row. */
export function attemptOf(row: AttemptRow): Attempt {
  return {
    taskId: row.task_id,
    number: row.number,
    agentId: row.agent_id,
    leaseToken: row.lease_token,
    sessionId: row.session_id,
    claimedAt: row.claimed_at.getTime(),
    endedAt: row.ended_at?.getTime() ?? null,
    outcome: row.outcome,
    result: row.result,
    resultHash: row.result_hash,
    lateResult: row.late_result,
    error: row.error,
    usage: row.usage,
    change: row.change,
    verdict: row.verdict,
  };
}
