import type { Actor } from '../../kernel/actor.js';
import type { Breaker, OwnLimits } from '../guard/types.js';
import type { ProjectPolicies } from '../projects/types.js';
import type { Run } from '../runs/types.js';
import type { QueueFilter, RosterAgent, View } from './decide/context.js';
import { waitsFor } from './decide/dependencies.js';
import type { Draft } from './decide/draft.js';
import { holdsDedupeKey, isTerminal } from './decide/machine.js';
import type { AnyAttempt, Task } from './types.js';
import { type Window, Windows } from './windows.js';

/** Which attempt of a task, by its lease token or its number. */
export interface AttemptKey {
  readonly taskId: string;
  readonly token: number | null;
  readonly number: number | null;
}

/** How much text the board may remember before it forgets everything and reads anew, in characters. */
const WEIGHT_MAX = 64_000_000;
const TASKS_MAX = 20_000;
const WINDOWS_MAX = 200;

/**
 * One project's rows as this process knows them, all of one revision. Decisions read it, and each decided command is applied
 * to it at once, so that the next in the batch sees it. It is only ever a guess: the commit proves that the project is still
 * at `revision`, and where it is not, the board is emptied and the batch decided again.
 */
export class Board implements View {
  revision = -1;
  position = 0;
  limits: OwnLimits = {};
  policies: ProjectPolicies = {};
  now = 0;
  /** This process's steady clock when it was that time. */
  nowSince = 0;
  /** The database's clock at the last own commit, and this process's steady clock then; null when that is unknown. */
  clock: { readonly database: number; readonly steady: number } | null = null;
  readonly runs = new Map<string, Run>();
  private readonly missingRuns = new Set<string>();
  readonly breakers = new Map<string, Breaker>();
  readonly agents = new Map<string, RosterAgent>();
  rosterLoadedAt = Number.NEGATIVE_INFINITY;
  private readonly tasks = new Map<string, Task | null>();
  readonly windows = new Windows(
    (id) => this.tasks.get(id) ?? null,
    () => this.now,
  );
  private readonly dependantIds = new Map<string, readonly string[]>();
  private readonly attempts: AnyAttempt[] = [];
  private readonly attemptsLookedUp = new Set<string>();
  private readonly reachable = new Map<string, readonly string[]>();
  private readonly dedupe = new Map<string, string | null>();
  /** Changed by this batch: what the database has of these is older. */
  private readonly touched = new Set<string>();
  private defaultRunId: string | null = null;
  private weight = 0;

  constructor(readonly projectId: string) {}

  /** Forgets everything, for instance because somebody else moved the project. */
  forget(): void {
    this.revision = -1;
    this.clock = null;
    this.runs.clear();
    this.breakers.clear();
    this.agents.clear();
    this.rosterLoadedAt = Number.NEGATIVE_INFINITY;
    this.tasks.clear();
    this.windows.clear();
    this.defaultRunId = null;
    this.weight = 0;
    this.endBatch();
  }

  /** Forgets what was loaded for one batch only, and what is not worth keeping. */
  endBatch(): void {
    this.dependantIds.clear();
    this.attempts.length = 0;
    this.attemptsLookedUp.clear();
    this.missingRuns.clear();
    this.reachable.clear();
    this.dedupe.clear();
    this.touched.clear();
    this.windows.endBatch();
    if (this.tasks.size > TASKS_MAX || this.weight > WEIGHT_MAX || this.windows.size > WINDOWS_MAX) {
      this.tasks.clear();
      this.windows.clear();
      this.weight = 0;
    }
  }

  // What the pipeline puts in.

  knows(taskId: string): boolean {
    return this.tasks.has(taskId);
  }

  remember(task: Task): void {
    const known = this.tasks.get(task.id);
    if (known === undefined || known === null)
      this.weight += task.title.length + task.description.length + 1_000;
    this.tasks.set(task.id, task);
  }

  /** These were looked for; those that were not found are not there. */
  rememberLoaded(wanted: Iterable<string>, found: readonly Task[]): void {
    for (const task of found) this.remember(task);
    for (const id of wanted) if (!this.tasks.has(id)) this.tasks.set(id, null);
  }

  knowsRun(id: string): boolean {
    return this.runs.has(id) || this.missingRuns.has(id);
  }

  knowsDedupe(key: string): boolean {
    return this.dedupe.has(key);
  }

  knowsReachable(id: string): boolean {
    return this.reachable.has(id);
  }

  knowsAttempt(key: AttemptKey): boolean {
    return this.attemptsLookedUp.has(attemptKey(key));
  }

  dependantIdsOf(taskId: string): readonly string[] | null {
    return this.dependantIds.get(taskId) ?? null;
  }

  rememberRuns(runs: readonly Run[], wanted: Iterable<string> = []): void {
    for (const run of runs) {
      this.runs.set(run.id, run);
      if (run.isDefault) this.defaultRunId = run.id;
    }
    for (const id of wanted) if (!this.runs.has(id)) this.missingRuns.add(id);
  }

  rememberDependants(wanted: Iterable<string>, found: ReadonlyMap<string, readonly string[]>): void {
    for (const id of wanted) this.dependantIds.set(id, found.get(id) ?? []);
  }

  rememberAttempts(wanted: readonly AttemptKey[], attempts: readonly AnyAttempt[]): void {
    for (const key of wanted) this.attemptsLookedUp.add(attemptKey(key));
    this.attempts.push(...attempts);
  }

  rememberReachable(wanted: Iterable<string>, found: ReadonlyMap<string, readonly string[]>): void {
    for (const id of wanted) this.reachable.set(id, []);
    for (const [id, dependsOn] of found) this.reachable.set(id, dependsOn);
  }

  rememberDedupe(wanted: Iterable<string>, holders: readonly Task[]): void {
    for (const key of wanted) this.dedupe.set(key, null);
    for (const task of holders) {
      if (!this.tasks.has(task.id)) this.remember(task);
      if (task.dedupeKey !== null) this.dedupe.set(task.dedupeKey, task.id);
    }
  }

  /** The head of a queue as it was read, with what this batch has changed since. */
  fill(window: Window, tasks: readonly Task[]): void {
    for (const task of tasks) if (!this.tasks.has(task.id)) this.remember(task);
    this.windows.fill(window, tasks);
    for (const id of this.touched) this.windows.place(this.latest(id));
  }

  /** Makes a decided command's change what the next decision sees. */
  apply(draft: Draft): void {
    for (const run of draft.runs.values()) {
      // Which tasks may be claimed changes with their run: its queues are read anew.
      if (this.runs.get(run.id)?.state !== run.state) this.windows.clear();
      this.runs.set(run.id, run);
    }
    for (const breaker of draft.breakers.values()) this.breakers.set(breaker.id, breaker);
    for (const { dependsOnId } of draft.edges) {
      const isFirst = this.tasks.get(dependsOnId)?.hasDependants !== true;
      if (isFirst && !this.dependantIds.has(dependsOnId)) this.dependantIds.set(dependsOnId, []);
    }
    for (const task of draft.tasks.values()) {
      const before = this.tasks.get(task.id) ?? null;
      this.count(before, task);
      if (before !== null) this.keepLast(before);
      this.remember(task);
      this.touched.add(task.id);
      this.keepDedupe(task);
      this.windows.place(task);
    }
    this.applyEdges(draft);
    for (const write of draft.attempts) {
      const at = this.attempts.findIndex(
        ({ taskId, number }) => taskId === write.taskId && number === write.number,
      );
      const known = this.attempts[at];
      if (known !== undefined) this.attempts[at] = { ...known, ...write };
    }
  }

  /**
   * What was loaded of a task's last attempt stands on the task, which this command changes: later in the batch it may be the
   * attempt before, or one whose lease has ended. While it was the last and under way, nothing can have come late for it; where
   * it had ended before the batch, a command that asks for what came late has had it loaded.
   */
  private keepLast({ id: taskId, memory: { last } }: Task): void {
    if (last === null || this.attempt(taskId, last) !== null) return;
    const { number, agentId, token: leaseToken, outcome, usage } = last;
    this.attempts.push({ taskId, number, agentId, leaseToken, outcome, usage, lateResult: null });
  }

  private applyEdges({ edges, droppedEdges }: Draft): void {
    for (const { taskId, dependsOnId } of droppedEdges) {
      const known = this.dependantIds.get(dependsOnId);
      if (known !== undefined)
        this.dependantIds.set(
          dependsOnId,
          known.filter((id) => id !== taskId),
        );
    }
    for (const { taskId, dependsOnId } of edges) {
      const known = this.dependantIds.get(dependsOnId);
      if (known?.includes(taskId) === false) this.dependantIds.set(dependsOnId, [...known, taskId]);
    }
  }

  private keepDedupe(task: Task): void {
    if (task.dedupeKey === null) return;
    if (holdsDedupeKey(task)) this.dedupe.set(task.dedupeKey, task.id);
    else if (this.dedupe.get(task.dedupeKey) === task.id) this.dedupe.set(task.dedupeKey, null);
  }

  /** A task as the board has it, or null where it knows of none. */
  known(id: string): Task | null {
    return this.tasks.get(id) ?? null;
  }

  /** A task that the batch has changed, as it is now. */
  latest(id: string): Task {
    const task = this.tasks.get(id);
    if (!task) throw new Error(`task ${id} was changed and is not there`);
    return task;
  }

  rememberRoster(agents: readonly RosterAgent[]): void {
    for (const agent of agents) {
      const seen = this.agents.get(agent.id)?.lastSeenAt ?? null;
      const lastSeenAt = Math.max(seen ?? 0, agent.lastSeenAt ?? 0);
      this.agents.set(agent.id, { ...agent, lastSeenAt: lastSeenAt === 0 ? null : lastSeenAt });
    }
  }

  /** Who sends a command has been seen. */
  see(actor: Actor): void {
    const agent = actor.agentId === null ? undefined : this.agents.get(actor.agentId);
    if (agent !== undefined) this.agents.set(agent.id, { ...agent, lastSeenAt: this.now });
  }

  /** Done and cancelled tasks are not decided on again; they need not be remembered. */
  dropFinished(tasks: Iterable<Task>): void {
    for (const task of tasks) if (isTerminal(task.state)) this.tasks.delete(task.id);
  }

  private count(before: Task | null, after: Task): void {
    const run = this.runs.get(after.runId);
    if (run === undefined || (before !== null && before.state === after.state)) return;
    const counts = { ...run.taskCounts, [after.state]: (run.taskCounts[after.state] ?? 0) + 1 };
    if (before !== null) counts[before.state] = Math.max(0, (counts[before.state] ?? 0) - 1);
    this.runs.set(run.id, { ...run, taskCounts: counts });
  }

  // What decisions read.

  task(id: string): Task | null {
    const task = this.tasks.get(id);
    if (task === undefined) throw new Error(`task ${id} was not loaded`);
    return task;
  }

  run(id: string): Run | null {
    return this.runs.get(id) ?? null;
  }

  defaultRun(): Run {
    const run = this.defaultRunId === null ? undefined : this.runs.get(this.defaultRunId);
    if (run === undefined) throw new Error(`project ${this.projectId} has no default run`);
    return run;
  }

  dependants(taskId: string): readonly Task[] {
    const ids = this.dependantIds.get(taskId) ?? [];
    return ids.map((id) => this.task(id)).filter((task) => task !== null);
  }

  attempt(
    taskId: string,
    which: { readonly number: number } | { readonly token: number },
  ): AnyAttempt | null {
    const found = this.attempts.find(
      (attempt) =>
        attempt.taskId === taskId &&
        ('number' in which ? attempt.number === which.number : attempt.leaseToken === which.token),
    );
    return found ?? null;
  }

  queue(filter: QueueFilter): Iterable<Task> {
    return this.windows.queue(filter);
  }

  dedupeHolder(key: string): Task | null {
    const id = this.dedupe.get(key);
    if (id === undefined) throw new Error('a dedupe key was not looked up');
    return id === null ? null : this.task(id);
  }

  waitsFor(taskId: string): readonly string[] {
    const task = this.tasks.get(taskId);
    const known = task ? waitsFor(task) : this.reachable.get(taskId);
    if (known === undefined) throw new Error(`what task ${taskId} waits for was not loaded`);
    return known;
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

function attemptKey({ taskId, token, number }: AttemptKey): string {
  return `${taskId}|${token ?? ''}|${number ?? ''}`;
}
