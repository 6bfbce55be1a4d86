import type { Actor } from '../../src/kernel/actor.js';
import type { NewEvent } from '../../src/kernel/event.js';
import type { Breaker, OwnLimits, Trip } from '../../src/modules/guard/types.js';
import type { Run } from '../../src/modules/runs/types.js';
import type { Context, QueueFilter, RosterAgent, View } from '../../src/modules/tasks/decide/context.js';
import { waitsFor } from '../../src/modules/tasks/decide/dependencies.js';
import { holdsDedupeKey, placementOf } from '../../src/modules/tasks/decide/machine.js';
import { type Decision, type Draft, decide } from '../../src/modules/tasks/decide.js';
import type { AnyCommand, Attempt, Task } from '../../src/modules/tasks/types.js';
import { POLICIES, SERVER, START, someAttempt, someId, someRun } from './builders.js';

/** A board in memory that decides and applies commands, one after another, as the pipeline would. */
export class World implements View {
  now = START;
  readonly tasks = new Map<string, Task>();
  readonly runs = new Map<string, Run>();
  readonly attempts: Attempt[] = [];
  readonly trips = new Map<string, Trip>();
  readonly events: NewEvent[] = [];
  readonly breakers = new Map<string, Breaker>();
  private readonly edges = new Map<string, { readonly taskId: string; readonly dependsOnId: string }>();
  private readonly agents = new Map<string, RosterAgent>();

  constructor(
    tasks: readonly Task[] = [],
    run: Run = someRun(),
    private readonly projectLimits: OwnLimits = {},
  ) {
    this.runs.set(run.id, run);
    for (const task of tasks) this.put(task);
  }

  /** Puts a task as if it had always been there, with the attempt that it remembers. */
  put(task: Task): void {
    this.tasks.set(task.id, task);
    const { last } = task.memory;
    if (last === null) return;
    const { number, token: leaseToken, outcome, usage } = last;
    const endedAt = outcome === 'in_progress' ? null : this.now;
    const result = last.hasResult ? 'posts.json' : null;
    this.attempts.push(
      someAttempt(task.id, last.agentId, { number, leaseToken, outcome, usage, endedAt, result }),
    );
  }

  join(...actors: readonly Actor[]): void {
    for (const { agentId, name, roles } of actors) {
      if (agentId === null) continue;
      const isExecutor = roles.includes('executor');
      const isReviewer = roles.includes('reviewer');
      this.agents.set(agentId, { id: agentId, name, isExecutor, isReviewer, lastSeenAt: this.now });
    }
  }

  /** The task as it is now. */
  taskOf(id: string): Task {
    const task = this.tasks.get(id);
    if (task === undefined) throw new Error(`there is no task ${id}`);
    return task;
  }

  context(actor: Actor): Context {
    return {
      view: this,
      now: this.now,
      actor,
      project: { limits: this.projectLimits },
      server: SERVER,
      policies: POLICIES,
      newId: someId,
    };
  }

  /** Decides and, whatever the answer, applies what the decision changed. */
  send(actor: Actor, command: AnyCommand): Decision {
    const decision = decide(this.context(actor), command);
    this.apply(decision.draft);
    return decision;
  }

  private apply(draft: Draft): void {
    for (const task of draft.tasks.values()) this.tasks.set(task.id, task);
    for (const run of draft.runs.values()) this.runs.set(run.id, run);
    for (const trip of draft.trips.values()) this.trips.set(trip.id, trip);
    for (const breaker of draft.breakers.values()) this.breakers.set(breaker.id, breaker);
    for (const write of draft.attempts) {
      const at = this.attempts.findIndex((a) => a.taskId === write.taskId && a.number === write.number);
      const known = this.attempts[at] ?? someAttempt(write.taskId, write.agentId ?? '');
      const next = { ...known, ...write, lateResult: known.lateResult ?? write.lateResult ?? null };
      if (at === -1) this.attempts.push(next);
      else this.attempts[at] = next;
    }
    for (const edge of draft.droppedEdges) this.edges.delete(`${edge.taskId}|${edge.dependsOnId}`);
    for (const edge of draft.edges) this.edges.set(`${edge.taskId}|${edge.dependsOnId}`, edge);
    this.events.push(...draft.events);
  }

  task(id: string): Task | null {
    return this.tasks.get(id) ?? null;
  }

  run(id: string): Run | null {
    return this.runs.get(id) ?? null;
  }

  defaultRun(): Run {
    for (const run of this.runs.values()) if (run.isDefault) return run;
    throw new Error('there is no default run');
  }

  dependants(taskId: string): readonly Task[] {
    return [...this.edges.values()].filter((e) => e.dependsOnId === taskId).map((e) => this.taskOf(e.taskId));
  }

  attempt(taskId: string, which: { readonly number: number } | { readonly token: number }): Attempt | null {
    const is = (a: Attempt) => ('number' in which ? a.number === which.number : a.leaseToken === which.token);
    return this.attempts.find((a) => a.taskId === taskId && is(a)) ?? null;
  }

  queue({ purpose, runId, labels }: QueueFilter): Iterable<Task> {
    const placed = (task: Task) => placementOf(task, this.now);
    return [...this.tasks.values()]
      .filter((task) => placed(task).queue === purpose && (runId === null || task.runId === runId))
      .filter((task) => labels.every((label) => task.labels.includes(label)))
      .sort((a, b) => placed(a).rank - placed(b).rank || a.readyAt - b.readyAt || a.id.localeCompare(b.id));
  }

  dedupeHolder(key: string): Task | null {
    return [...this.tasks.values()].find((t) => t.dedupeKey === key && holdsDedupeKey(t)) ?? null;
  }

  waitsFor(taskId: string): readonly string[] {
    return waitsFor(this.taskOf(taskId));
  }

  breaker(id: string): Breaker | null {
    return this.breakers.get(id) ?? null;
  }

  agent(id: string): RosterAgent | null {
    return this.agents.get(id) ?? null;
  }

  roster(): readonly RosterAgent[] {
    return [...this.agents.values()];
  }
}
