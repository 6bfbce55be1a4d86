import type { JsonObject } from '../../../kernel/json.js';
import { ok, type Result } from '../../../kernel/refusal.js';
import { toUsd } from '../../guard/wire.js';
import type { Attempt, CommandOf, Task, Usage } from '../types.js';
import type { Draft } from './draft.js';
import { added, addedIterations, addedTokens, addUsage, withLast } from './machine.js';
import { leaseLost } from './refusals.js';
import { settle } from './settle.js';

/** Adds a usage report to the task and its run: an increment, over the limit too. The caller settles. */
export function addToTask(draft: Draft, task: Task, usage: Usage): Task {
  const fresh = usage.tokens.input + usage.tokens.output + usage.tokens.cacheWrite;
  const run = draft.runOf(task);
  draft.countOnRun({
    ...run,
    iterations: addedIterations(run.iterations, usage.iterations),
    tokensUsed: added(run.tokensUsed, fresh),
    costMicros: added(run.costMicros, usage.costMicros),
  });
  return draft.put({
    ...task,
    counters: {
      ...task.counters,
      tokensUsed: added(task.counters.tokensUsed, fresh),
      costMicros: added(task.counters.costMicros, usage.costMicros),
      tokens: addedTokens(task.counters.tokens, usage.tokens),
    },
  });
}

/** Adds usage to the task and to its last attempt. */
export function addToLast(draft: Draft, task: Task, usage: Usage): Task {
  const { last } = task.memory;
  if (last === null) return addToTask(draft, task, usage);
  const total = addUsage(last.usage, usage);
  draft.attempts.push({ taskId: task.id, number: last.number, usage: total });
  return addToTask(draft, withLast(task, { usage: total }), usage);
}

/** Usage as an event states it. */
export function usageFacts(usage: Usage): JsonObject {
  return {
    tokens: {
      input: usage.tokens.input,
      output: usage.tokens.output,
      cache_read: usage.tokens.cacheRead,
      cache_write: usage.tokens.cacheWrite,
    },
    cost_usd: toUsd(usage.costMicros),
    iterations: usage.iterations,
    context_tokens: usage.contextTokens,
  };
}

/**
 * A report on an attempt that the caller worked on, or on its review: always recorded, after the end of either and over every
 * limit too, because the tokens are spent.
 */
export function reportUsage(draft: Draft, command: CommandOf<'report_usage'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  const { usage } = command;
  const agentId = draft.context.actor.agentId;
  const { last } = task.memory;
  if (isReviewOf(task, agentId, command.leaseToken)) {
    addToTask(draft, task, usage);
    return recorded(draft, task, usage, { attempt: task.attempt, review: true });
  }
  const attempt = attemptMeant(draft, task, command);
  if (attempt === null || attempt.agentId !== agentId) return { ok: false, refusal: leaseLost(task) };
  if (attempt.number === last?.number) addToLast(draft, task, usage);
  else {
    draft.attempts.push({ taskId: task.id, number: attempt.number, usage: addUsage(attempt.usage, usage) });
    addToTask(draft, task, usage);
  }
  return recorded(draft, task, usage, { attempt: attempt.number });
}

/** Whether a token is that of an agent's review: the one it holds, or the last one, however it ended. */
export function isReviewOf(task: Task, agentId: string | null, token: number | null): boolean {
  const { lease, memory } = task;
  const review = lease?.kind === 'review' ? lease : memory.lastReview;
  return review !== null && review.agentId === agentId && review.token === token;
}

function recorded(draft: Draft, task: Task, usage: Usage, about: JsonObject): Result<null> {
  draft.emit('task.usage_reported', task.id, {
    from: task.state,
    to: task.state,
    data: { ...about, usage: usageFacts(usage) },
  });
  settle(draft, task.id);
  return ok(null);
}

function attemptMeant(
  draft: Draft,
  task: Task,
  command: CommandOf<'report_usage'>,
): Pick<Attempt, 'number' | 'agentId' | 'usage'> | null {
  const { last } = task.memory;
  const { view } = draft.context;
  if (command.attempt !== null) {
    return command.attempt === last?.number ? last : view.attempt(task.id, { number: command.attempt });
  }
  if (command.leaseToken !== null) {
    return command.leaseToken === last?.token ? last : view.attempt(task.id, { token: command.leaseToken });
  }
  return last;
}
