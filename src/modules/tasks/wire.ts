import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import type { Verdict as GuardVerdict, TaskLimits, Trip } from '../guard/types.js';
import { limitsToWire, toUsd, tripToWire, verdictToWire } from '../guard/wire.js';
import type { Attempt, Lease, Task, Tokens, Usage, Verdict } from './types.js';

/** A time on the wire: RFC 3339 in UTC. */
export function time(ms: number): string {
  return new Date(ms).toISOString();
}

function maybeTime(ms: number | null): string | null {
  return ms === null ? null : time(ms);
}

const taskId = (id: string | null) => (id === null ? null : toWire('task', id));

/** A task on the wire, with the limits in force. Never its lease token. */
export function taskToWire(task: Task, limits: TaskLimits): JsonObject {
  const { counters } = task;
  return {
    id: toWire('task', task.id),
    project_id: toWire('project', task.projectId),
    run_id: toWire('run', task.runId),
    title: task.title,
    description: task.description,
    acceptance: [...task.acceptance],
    priority: task.priority,
    labels: [...task.labels],
    state: task.state,
    block_reason: task.block === null ? null : { kind: task.block.kind, reason: task.block.reason },
    claimed_by: task.claimedBy === null ? null : toWire('agent', task.claimedBy),
    lease_expires_at: maybeTime(task.lease?.expiresAt ?? null),
    attempt: task.attempt,
    rework_count: counters.reworkCount,
    rework_total: counters.reworkTotal,
    error_count: counters.errorCount,
    error_total: counters.errorTotal,
    review_failures: counters.reviewFailures,
    tokens_used: counters.tokensUsed,
    tokens: tokensToWire(counters.tokens),
    cost_usd: toUsd(counters.costMicros),
    limits: limitsToWire(limits),
    unblock_count: counters.unblockCount,
    trip_count: counters.tripCount,
    open_trip_id: task.memory.trip === null ? null : toWire('trip', task.memory.trip.id),
    depends_on: task.dependsOn.map((id) => toWire('task', id)),
    parent_id: taskId(task.parentId),
    supersedes: taskId(task.supersedes),
    superseded_by: taskId(task.supersededBy),
    dedupe_key: task.dedupeKey,
    not_before: maybeTime(task.notBefore),
    version: task.version,
    created_at: time(task.createdAt),
    updated_at: time(task.updatedAt),
    finished_at: maybeTime(task.finishedAt),
  };
}

function tokensToWire(tokens: Tokens): JsonObject {
  return {
    input: tokens.input,
    output: tokens.output,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
  };
}

/** Usage on the wire. */
export function usageToWire(usage: Usage): JsonObject {
  return {
    tokens: tokensToWire(usage.tokens),
    cost_usd: toUsd(usage.costMicros),
    iterations: usage.iterations,
  };
}

/** A verdict on the wire. */
export function verdictOnWire(verdict: Verdict): JsonObject {
  return {
    by: toWire('agent', verdict.by),
    at: time(verdict.at),
    approved: verdict.approved,
    reason: verdict.reason,
    class: verdict.class,
    findings: verdict.findings.map(({ criterion, detail }) => ({ criterion, detail })),
  };
}

/** An attempt on the wire. */
export function attemptToWire(attempt: Attempt): JsonObject {
  return {
    number: attempt.number,
    agent_id: toWire('agent', attempt.agentId),
    claimed_at: time(attempt.claimedAt),
    ended_at: maybeTime(attempt.endedAt),
    outcome: attempt.outcome,
    result: attempt.result,
    late_result: attempt.lateResult,
    error:
      attempt.error === null
        ? null
        : {
            class: attempt.error.class,
            message: attempt.error.message,
            fingerprint: attempt.error.fingerprint,
            detail: attempt.error.detail,
          },
    usage: usageToWire(attempt.usage),
    verdict: attempt.verdict === null ? null : verdictOnWire(attempt.verdict),
  };
}

/** A command's answer: the task's fields, beside them the guard's word, and the trip when the command opened one. */
export function answerToWire(
  task: Task,
  limits: TaskLimits,
  guard: GuardVerdict,
  trip: Trip | null,
): JsonObject {
  return {
    ...taskToWire(task, limits),
    guard: verdictToWire(guard),
    ...(trip === null ? {} : { trip: tripToWire(trip) }),
  };
}

/** One claim on the wire. The only place where a lease token is told. */
export function claimToWire(
  task: Task,
  limits: TaskLimits,
  lease: Lease,
  guard: GuardVerdict,
  trip: Trip | null,
): JsonObject {
  return {
    task: taskToWire(task, limits),
    attempt: task.attempt,
    purpose: lease.kind,
    lease_token: lease.token,
    lease_expires_at: time(lease.expiresAt),
    feedback: task.feedback === null ? null : verdictOnWire(task.feedback),
    guard: verdictToWire(guard),
    context: null,
    ...(trip === null ? {} : { trip: tripToWire(trip) }),
  };
}
