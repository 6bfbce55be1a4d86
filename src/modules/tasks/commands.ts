import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { defined } from '../../kernel/defined.js';
import { fromWire, type NewId } from '../../kernel/ids.js';
import type { Json } from '../../kernel/json.js';
import { ok, type Result, refuse } from '../../kernel/refusal.js';
import { limitsIn } from '../guard/index.js';
import { toMicros } from '../guard/wire.js';
import { runStartIn } from '../runs/index.js';
import type * as schema from './schema.js';
import { isJson } from './schema.js';
import type { ClaimPurpose, CommandOf, NewTask, Usage } from './types.js';

/** From the wire's words to commands. Nothing is decided here. */

type In<T extends z.ZodType> = z.output<T>;

/** Usage in the core's words. */
export function usageIn(given: In<typeof schema.usage>): Usage {
  const { input, output, cache_read: cacheRead, cache_write: cacheWrite } = given.tokens;
  return {
    tokens: { input, output, cacheRead, cacheWrite },
    costMicros: toMicros(given.cost_usd),
    iterations: given.iterations,
    contextTokens: given.context_tokens,
  };
}

function maybeUsage(given: In<typeof schema.usage> | null): Usage | null {
  return given === null ? null : usageIn(given);
}

type TaskFields = Omit<In<typeof schema.newTask>, 'run_id' | 'depends_on'>;

function newTaskOf(
  given: TaskFields,
  id: string,
  runId: string | null,
  dependsOn: readonly string[],
): NewTask {
  return {
    id,
    runId,
    parentId: given.parent_id,
    title: given.title,
    description: given.description,
    acceptance: given.acceptance,
    priority: given.priority,
    labels: [...new Set(given.labels)],
    dependsOn,
    limits: limitsIn(given.limits),
    notBefore: given.not_before,
    dedupeKey: given.dedupe_key,
    supersedes: given.supersedes,
  };
}

export function createTask(given: In<typeof schema.newTask>, newId: NewId): CommandOf<'create'> {
  return {
    type: 'create',
    tasks: [newTaskOf(given, newId(), given.run_id, given.depends_on)],
    run: null,
    plan: false,
  };
}

/** A plan's command. Refs become ids here; a ref that no task of the plan has is refused. */
export function createPlan(given: In<typeof schema.newPlan>, newId: NewId): Result<CommandOf<'create'>> {
  if (given.run !== null && given.run_id !== null) {
    return wrong('/run_id', 'a plan makes a new run or names one that is there, not both');
  }
  const ids = new Map<string, string>();
  for (const [index, { ref }] of given.tasks.entries()) {
    if (ids.has(ref))
      return wrong(`/tasks/${index}/ref`, 'two tasks of a plan have this ref; each needs its own');
    ids.set(ref, newId());
  }
  const tasks: NewTask[] = [];
  for (const [index, planned] of given.tasks.entries()) {
    const dependsOn: string[] = [];
    for (const [at, name] of planned.depends_on.entries()) {
      const id = ids.get(name) ?? fromWire('task', name);
      if (id === null)
        return wrong(`/tasks/${index}/depends_on/${at}`, 'neither a ref of this plan nor the id of a task');
      dependsOn.push(id);
    }
    tasks.push(newTaskOf(planned, ids.get(planned.ref) ?? newId(), given.run_id, dependsOn));
  }
  const run = given.run === null ? null : runStartIn(given.run, newId());
  return ok({ type: 'create', tasks, run, plan: true });
}

function wrong(pointer: string, detail: string) {
  return refuse('invalid_request', `The plan cannot be read: ${pointer}: ${detail}.`, {
    errors: [{ pointer, detail, code: 'invalid' }],
  });
}

export function updateTask(taskId: string, given: In<typeof schema.taskEdit>): CommandOf<'update'> {
  const edit = defined({
    title: given.title,
    description: given.description,
    acceptance: given.acceptance,
    priority: given.priority,
    labels: given.labels === undefined ? undefined : [...new Set(given.labels)],
    dependsOn: given.depends_on,
    notBefore: given.not_before,
    limits: given.limits === undefined ? undefined : limitsIn(given.limits),
  });
  return { type: 'update', taskId, edit };
}

export function claimNext(
  given: In<typeof schema.claimNext>,
  purpose: ClaimPurpose,
): CommandOf<'claim_next'> {
  return {
    type: 'claim_next',
    purpose,
    labels: given.labels,
    runId: given.run_id,
    max: given.max,
    leaseSeconds: given.lease_seconds,
    sessionId: given.session_id,
  };
}

export function claimOne(taskId: string, given: In<typeof schema.claimOne>): CommandOf<'claim'> {
  return {
    type: 'claim',
    taskId,
    purpose: given.for ?? null,
    leaseSeconds: given.lease_seconds,
    sessionId: given.session_id,
  };
}

export function heartbeat(taskId: string, given: In<typeof schema.heartbeat>): CommandOf<'heartbeat'> {
  return { type: 'heartbeat', taskId, leaseToken: given.lease_token, usage: maybeUsage(given.usage) };
}

export function reportUsage(taskId: string, given: In<typeof schema.usageReport>): CommandOf<'report_usage'> {
  const { lease_token: leaseToken, attempt, ...usage } = given;
  return { type: 'report_usage', taskId, leaseToken, attempt, usage: usageIn(usage) };
}

export function submit(taskId: string, given: In<typeof schema.submission>): CommandOf<'submit'> {
  const result: Json = isJson(given.result) ? given.result : null;
  const resultHash = createHash('sha256').update(JSON.stringify(result)).digest('hex');
  return {
    type: 'submit',
    taskId,
    leaseToken: given.lease_token,
    result,
    resultHash,
    usage: maybeUsage(given.usage),
    change: given.change,
  };
}

export function fail(taskId: string, given: In<typeof schema.failure>): CommandOf<'fail'> {
  const { class: errorClass, message, detail } = given.error;
  return {
    type: 'fail',
    taskId,
    leaseToken: given.lease_token,
    error: { class: errorClass, message, detail: isJson(detail) ? detail : null },
    retryAfterSeconds: given.retry_after_seconds,
    usage: maybeUsage(given.usage),
  };
}

export function release(taskId: string, given: In<typeof schema.release>): CommandOf<'release'> {
  return { type: 'release', taskId, leaseToken: given.lease_token, reason: given.reason };
}

export function approve(taskId: string, given: In<typeof schema.approval>): CommandOf<'approve'> {
  return { type: 'approve', taskId, attempt: given.attempt, leaseToken: given.lease_token, note: given.note };
}

export function rework(taskId: string, given: In<typeof schema.reworkRequest>): CommandOf<'rework'> {
  const { reason, findings, attempt, lease_token: leaseToken } = given;
  return { type: 'rework', taskId, attempt, leaseToken, reason, class: given.class, findings };
}

export function block(taskId: string, given: In<typeof schema.blocking>): CommandOf<'block'> {
  return { type: 'block', taskId, kind: given.kind, reason: given.reason };
}

export function cancel(taskId: string, given: In<typeof schema.cancellation>): CommandOf<'cancel'> {
  return { type: 'cancel', taskId, reason: given.reason };
}

export function unblock(taskId: string, given: In<typeof schema.unblocking>): CommandOf<'unblock'> {
  const { changes } = given;
  return {
    type: 'unblock',
    taskId,
    reason: given.reason,
    assessment: given.assessment,
    changes: defined({
      description: changes.description,
      acceptance: changes.acceptance,
      limits: changes.limits === undefined ? undefined : limitsIn(changes.limits),
      dependsOn: changes.depends_on,
      excludedAgentId: changes.excluded_agent_id,
      assignedAgentId: changes.assigned_agent_id,
    }),
    resetTokens: given.reset_tokens,
    to: given.to,
  };
}
