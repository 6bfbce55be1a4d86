import type { Actor } from '../../kernel/actor.js';
import type { Breaker, OwnLimits } from '../guard/types.js';
import type { ProjectPolicies } from '../projects/types.js';
import type { Run } from '../runs/types.js';
import type { QueueFilter, RosterAgent, View } from './decide/context.js';
import { waitsFor } from './decide/dependencies.js';
import type { Draft } from './decide/draft.js';
import { holdsDedupeKey, isTerminal, placementOf } from './decide/machine.js';
import type { Attempt, Task } from './types.js';

/** The head of one queue as known here: ids in claim order, and whether the queue goes on behind them. */
export interface Window {
  readonly filter: QueueFilter;
  ids: string[];
  /** Nothing is in this queue beyond `ids`. */
  complete: boolean;
  /** How many to load next time. */
  size: number;
  /** It was loaded for this batch: what it does not hold now, loading it again in the same size would not bring. */
  fresh: boolean;
  /** A claim came to the end of an incomplete window without what it wanted. */
  starved: boolean;
}

/** Which attempt of a task, by its lease token or its number. */
export interface AttemptKey {
  readonly taskId: string;
  readonly token: number | null;
  readonly number: number | null;
}

/** How much text the board may remember before it forgets everything and reads anew, in characters. */
const WEIGHT_MAX = 64_000_000;
const TASKS_MAX = 20_000;
const WINDOW_SIZE = 128;
const WINDOW_SIZE_MAX = 8_192;
const WINDOW_GROWTH = 8;
/** A window longer than this is cut back to its usual size. */
const WINDOW_KEPT = 1_024;
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
  /** The database's clock at the last own commit, and this process's steady clock then; null when that is unknown. */
  clock: { readonly database: number; readonly steady: number } | null = null;
  readonly runs = new Map<string, Run>();
  private readonly missingRuns = new Set<string>();
  readonly breakers = new Map<string, Breaker>();
  readonly agents = new Map<string, RosterAgent>();
  rosterLoadedAt = Number.NEGATIVE_INFINITY;
  private readonly tasks = new Map<string, Task | null>();
  private readonly windows = new Map<string, Window>();
  private readonly dependantIds = new Map<string, readonly string[]>();
  private readonly attempts: Attempt[] = [];
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
    for (const window of this.windows.values()) window.fresh = false;
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

  rememberAttempts(wanted: readonly AttemptKey[], attempts: readonly Attempt[]): void {
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

  window(filter: QueueFilter): Window {
    const key = `${filter.purpose}|${filter.runId ?? ''}|${filter.labels.join('\u0000')}`;
    let window = this.windows.get(key);
    if (window === undefined) {
      window = { filter, ids: [], complete: false, size: WINDOW_SIZE, fresh: false, starved: true };
      this.windows.set(key, window);
    }
    return window;
  }

  fill(window: Window, tasks: readonly Task[]): void {
    for (const task of tasks) if (!this.tasks.has(task.id)) this.remember(task);
    window.ids = tasks.map((task) => task.id);
    window.complete = tasks.length < window.size;
    window.size = WINDOW_SIZE;
    window.fresh = true;
    window.starved = false;
    for (const id of this.touched) this.place(window, this.latest(id));
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
      this.count(this.tasks.get(task.id) ?? null, task);
      this.remember(task);
      this.touched.add(task.id);
      this.keepDedupe(task);
      for (const window of this.windows.values()) this.place(window, task);
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

  /**
   * Whether a claim that came to the end of its window should look behind it. The first look reads the window anew, because
   * it was only used up; each further one reads a larger window, because what it holds is passed over.
   */
  wantsMore(filter: QueueFilter, looks: number): boolean {
    const window = this.window(filter);
    if (!window.starved) return false;
    const sizeAt = (look: number) => Math.min(WINDOW_SIZE * WINDOW_GROWTH ** look, WINDOW_SIZE_MAX);
    if (looks > 0 && sizeAt(looks - 1) === WINDOW_SIZE_MAX) return false;
    window.size = sizeAt(looks);
    return true;
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

  private place(window: Window, task: Task): void {
    const at = window.ids.indexOf(task.id);
    const belongs =
      placementOf(task, this.now).queue === window.filter.purpose && matches(task, window.filter);
    if (at !== -1) window.ids.splice(at, 1);
    if (!belongs) return;
    let index = window.ids.length;
    while (index > 0 && this.comesBefore(task, window.ids[index - 1])) index--;
    // Behind the last one known there may be others that come first: only a complete window can say.
    if (index < window.ids.length || window.complete) window.ids.splice(index, 0, task.id);
    if (window.ids.length > WINDOW_KEPT) {
      window.ids.length = WINDOW_SIZE;
      window.complete = false;
    }
  }

  private comesBefore(task: Task, otherId: string | undefined): boolean {
    const other = otherId === undefined ? null : (this.tasks.get(otherId) ?? null);
    if (other === null) return false;
    const rank = placementOf(task, this.now).rank - placementOf(other, this.now).rank;
    if (rank !== 0) return rank < 0;
    if (task.readyAt !== other.readyAt) return task.readyAt < other.readyAt;
    return task.id < other.id;
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

  attempt(taskId: string, which: { readonly number: number } | { readonly token: number }): Attempt | null {
    const found = this.attempts.find(
      (attempt) =>
        attempt.taskId === taskId &&
        ('number' in which ? attempt.number === which.number : attempt.leaseToken === which.token),
    );
    return found ?? null;
  }

  *queue(filter: QueueFilter): Generator<Task> {
    const window = this.window(filter);
    for (const id of [...window.ids]) {
      const task = this.tasks.get(id);
      if (task) yield task;
    }
    if (!window.complete) window.starved = true;
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

/** Whether a queue's filter lets a task through. */
function matches(task: Task, filter: QueueFilter): boolean {
  return (
    (filter.runId === null || filter.runId === task.runId) &&
    filter.labels.every((label) => task.labels.includes(label))
  );
}

function attemptKey({ taskId, token, number }: AttemptKey): string {
  return `${taskId}|${token ?? ''}|${number ?? ''}`;
}
