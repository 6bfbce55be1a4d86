import { type ActingRole, type Role, roleFor } from '../../../kernel/actor.js';
import type { EventType, NewEvent } from '../../../kernel/event.js';
import type { JsonObject } from '../../../kernel/json.js';
import { closedBreaker } from '../../guard/breaker.js';
import { effectiveLimits, effectiveRunLimits } from '../../guard/limits.js';
import type {
  Breaker,
  BreakerCommand,
  Verdict as GuardVerdict,
  RunLimits,
  TaskLimits,
  Trip,
} from '../../guard/types.js';
import { breakerToWire, toUsd } from '../../guard/wire.js';
import type { Run, RunCommandType } from '../../runs/types.js';
import type { Attempt, CommandType, Task, TaskState } from '../types.js';
import type { Context } from './context.js';

/** What is set on an attempt's row; what is absent stays. */
export type AttemptWrite = Pick<Attempt, 'taskId' | 'number'> & Partial<Omit<Attempt, 'taskId' | 'number'>>;

/** What an event says that is of no task. */
interface ProjectFacts {
  readonly reason?: string | null;
  readonly data?: JsonObject;
}

/** What an event says beside its type and task. */
interface EventFacts {
  readonly from?: TaskState | null;
  readonly to?: TaskState | null;
  readonly reason?: string | null;
  readonly data?: JsonObject;
}

/**
 * The change one command makes, while it is being decided: rows as they will be, and the events that say so. Reads see what
 * was already put. It lives inside one decision only; a refused command's draft is thrown away whole.
 */
export class Draft {
  readonly tasks = new Map<string, Task>();
  private readonly fresh = new Set<string>();
  readonly runs = new Map<string, Run>();
  readonly trips = new Map<string, Trip>();
  readonly breakers = new Map<string, Breaker>();
  readonly attempts: AttemptWrite[] = [];
  readonly events: NewEvent[] = [];
  /** New edges of the dependency graph. */
  readonly edges: { readonly taskId: string; readonly dependsOnId: string }[] = [];
  readonly droppedEdges: { readonly taskId: string; readonly dependsOnId: string }[] = [];
  /** The command's own trip, for its answer. */
  trip: Trip | null = null;
  /** The guard's word on each task after the command. */
  readonly verdicts = new Map<string, GuardVerdict>();
  /** Layers whose warning line this command crossed. */
  readonly warnings: GuardVerdict['layers'][number][] = [];

  constructor(
    readonly context: Context,
    readonly command: CommandType | RunCommandType | BreakerCommand['type'],
  ) {}

  get isEmpty(): boolean {
    return (
      this.tasks.size === 0 &&
      this.breakers.size === 0 &&
      this.runs.size === 0 &&
      this.attempts.length === 0 &&
      this.events.length === 0
    );
  }

  task(id: string): Task | null {
    return this.tasks.get(id) ?? this.context.view.task(id);
  }

  /** A task that must be there because another row points at it. */
  taskOf(id: string): Task {
    const task = this.task(id);
    if (task === null) throw new Error(`task ${id} is referred to and not there`);
    return task;
  }

  run(id: string): Run | null {
    return this.runs.get(id) ?? this.context.view.run(id);
  }

  /** A run that must be there because another row points at it. */
  runById(id: string): Run {
    const run = this.run(id);
    if (run === null) throw new Error(`run ${id} is referred to and not there`);
    return run;
  }

  runOf(task: Task): Run {
    return this.runById(task.runId);
  }

  limitsOf(task: Task): TaskLimits {
    return effectiveLimits(
      task.limits,
      this.runOf(task).limits,
      this.context.project.limits,
      this.context.server,
    );
  }

  /** The limits of a task that sets none, in a run that sets none. */
  get usualLimits(): TaskLimits {
    return effectiveLimits({}, {}, this.context.project.limits, this.context.server);
  }

  /** The limits that a run's tasks have unless they set their own. */
  limitsFor(run: Run): TaskLimits {
    return effectiveLimits({}, run.limits, this.context.project.limits, this.context.server);
  }

  runLimitsOf(run: Run): RunLimits {
    return effectiveRunLimits(run.limits, this.context.project.limits, this.context.server);
  }

  /** Puts a task that was not there before. */
  add(task: Task): Task {
    this.fresh.add(task.id);
    return this.put(task);
  }

  /** Puts a task as it will be, with a new version. */
  put(task: Task): Task {
    const known = this.fresh.has(task.id) ? null : this.context.view.task(task.id);
    const next = { ...task, version: known === null ? 1 : known.version + 1, updatedAt: this.context.now };
    this.tasks.set(next.id, next);
    return next;
  }

  /** Puts a task whose lease or bookkeeping alone changed: no new version. */
  putQuietly(task: Task): Task {
    this.tasks.set(task.id, task);
    return task;
  }

  /** The fleet's breaker has the project's id, an agent's has the agent's. */
  fleetBreaker(): Breaker {
    const id = this.context.actor.projectId;
    return (
      this.breakers.get(id) ?? this.context.view.breaker(id) ?? closedBreaker(id, null, this.context.now)
    );
  }

  agentBreaker(agentId: string): Breaker {
    return (
      this.breakers.get(agentId) ??
      this.context.view.breaker(agentId) ??
      closedBreaker(agentId, agentId, this.context.now)
    );
  }

  putRun(run: Run): Run {
    const known = this.context.view.run(run.id);
    const next = { ...run, version: known === null ? 1 : known.version + 1, updatedAt: this.context.now };
    this.runs.set(next.id, next);
    return next;
  }

  /** Counts on a run without making a new version of it: a busy run would never be the same twice. */
  countOnRun(run: Run): Run {
    this.runs.set(run.id, run);
    return run;
  }

  /** Adds an event of a task and gives it the task's next number. */
  emit(type: EventType, taskId: string, facts: EventFacts = {}): void {
    const task = this.taskOf(taskId);
    const number = task.eventNumber + 1;
    this.tasks.set(taskId, { ...task, eventNumber: number });
    this.events.push({
      type,
      taskId,
      number,
      runId: task.runId,
      ...this.origin(),
      from: facts.from ?? null,
      to: facts.to ?? null,
      counters: countersOf(task),
      reason: facts.reason ?? null,
      data: facts.data ?? {},
    });
  }

  /** Adds an event of a run. */
  emitOfRun(
    type: EventType,
    run: Run,
    facts: { readonly reason?: string; readonly data?: JsonObject } = {},
  ): void {
    this.events.push({
      type,
      taskId: null,
      number: null,
      runId: run.id,
      ...this.origin(),
      from: null,
      to: run.state,
      counters: { iterations: run.iterations, tokens_used: run.tokensUsed, cost_usd: toUsd(run.costMicros) },
      reason: facts.reason ?? null,
      data: facts.data ?? {},
    });
  }

  /** Adds an event of a breaker. */
  emitOfBreaker(type: EventType, breaker: Breaker, facts: ProjectFacts = {}): void {
    this.emitOfProject(type, {
      ...facts,
      data: { ...breakerToWire(breaker, this.context.now), ...facts.data },
    });
  }

  /** Adds an event that is of no task and no run. */
  emitOfProject(type: EventType, facts: ProjectFacts): void {
    this.events.push({
      type,
      taskId: null,
      number: null,
      runId: null,
      ...this.origin(),
      from: null,
      to: null,
      counters: null,
      reason: facts.reason ?? null,
      data: facts.data ?? {},
    });
  }

  private origin(): { agentId: string | null; role: ActingRole; command: string } {
    const { actor } = this.context;
    return { agentId: actor.agentId, role: actingRole(this.context, this.command), command: this.command };
  }
}

/** By which of its roles an actor sends each command; who holds a lease acts in the role that the lease is for. */
const SPEAKS_AS: Partial<Record<CommandType | RunCommandType | BreakerCommand['type'], readonly Role[]>> = {
  create_run: ['planner'],
  update_run: ['planner'],
  recover_run: ['planner'],
  close_run: ['planner'],
  isolate_breaker: ['operator'],
  close_breaker: ['operator'],
  create: ['planner'],
  update: ['planner'],
  unblock: ['planner'],
  split: ['planner'],
  escalate: ['planner'],
  cancel: ['planner'],
  block: ['planner', 'executor', 'reviewer'],
  approve: ['reviewer'],
  rework: ['reviewer'],
};

/** The role that stands on the command's events. */
export function actingRole(
  context: Context,
  command: CommandType | RunCommandType | BreakerCommand['type'],
): ActingRole {
  if (context.actor.agentId === null) return 'server';
  return (
    roleFor(context.actor, SPEAKS_AS[command] ?? ['executor', 'reviewer']) ??
    context.actor.roles[0] ??
    'server'
  );
}

/** A task's counters as events and answers state them. */
export function countersOf(task: Task): JsonObject {
  const { counters } = task;
  return {
    attempt: task.attempt,
    rework_count: counters.reworkCount,
    rework_total: counters.reworkTotal,
    error_count: counters.errorCount,
    error_total: counters.errorTotal,
    review_failures: counters.reviewFailures,
    attempts_since_unblock: counters.attemptsSinceUnblock,
    tokens_used: counters.tokensUsed,
    cost_usd: toUsd(counters.costMicros),
    unblock_count: counters.unblockCount,
    trip_count: counters.tripCount,
  };
}
