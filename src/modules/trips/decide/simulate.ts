import { fromWire } from '../../../kernel/ids.js';
import { evaluate, openRunLayers, openTaskLayers, readLayer } from '../../guard/evaluate.js';
import { effectiveLimits, effectiveRunLimits, type ServerLimits } from '../../guard/limits.js';
import type { LayerReading, OwnLimits, Verdict } from '../../guard/types.js';
import {
  type Counts,
  countsIn,
  limitsIn,
  objectIn,
  type ReplayEvent,
  type SimulationResult,
  type Stop,
  spentIn,
  timeIn,
} from './replay.js';
import { recoverRun, type SimRun, simRun, spend } from './sim-run.js';
import {
  countersOf,
  countOn,
  fatalIn,
  isHeld,
  isIgnored,
  isSettled,
  type SimTask,
  simTask,
  unblocked,
} from './sim-task.js';

/** Under which limits a log is replayed. */
export interface SimulationTerms {
  /** The server's own limits. */
  readonly server: ServerLimits;
  /** These stand for every task and run, whatever they set themselves; what is absent stays as the log has it. */
  readonly limits: OwnLimits;
  /** Nothing is stopped before this moment. */
  readonly since: number;
}

/** How many stops are listed; the rest are only counted. */
export const STOPS_MAX = 1_000;

/**
 * Replays a project's log under other limits, event by event from its start, in the memory of the
 * counters of tasks that are not done.
 * What is stopped here ignores its later events until its own unblock (a run's recovery) in the log; what those did would not
 * have been done. The limits that were in force give exactly the stops that were made.
 */
export class Simulation {
  private readonly tasks = new Map<string, SimTask>();
  private readonly runs = new Map<string, SimRun>();
  private project: OwnLimits = {};
  private readonly stopped: Stop[] = [];
  private stoppedCount = 0;
  private readonly saved = { iterations: 0, reworks: 0, tokens: 0, costMicros: 0 };
  private readEvents = 0;

  constructor(private readonly terms: SimulationTerms) {}

  get result(): SimulationResult {
    const { stopped, stoppedCount, saved, readEvents } = this;
    return { stopped: [...stopped], stoppedCount, saved: { ...saved }, readEvents };
  }

  /** Takes the next event of the log. */
  take(event: ReplayEvent): void {
    this.readEvents += 1;
    if (event.type === 'project.updated') this.project = limitsIn(event.data.limits);
    if (event.runId === null) return;
    if (event.type === 'run.created') this.runs.set(event.runId, simRun(event.runId, event));
    const run = this.runs.get(event.runId);
    if (run === undefined) return;
    if (event.taskId === null) this.onRun(run, event);
    else if (event.type === 'task.created') this.create(event.taskId, run, event);
    else this.onTask(event.taskId, run, event);
  }

  private onRun(run: SimRun, event: ReplayEvent): void {
    const { type, data, at } = event;
    // A start of work found it over a limit that time or a setting crossed.
    if (type === 'trip.opened') this.settleRun(run, this.read(null, run, at), at);
    if (type === 'run.tripped') run.tripped = true;
    if (type === 'run.closed') run.closed = true;
    if (type === 'run.updated') {
      run.own = limitsIn(data.limits);
      run.deadlineAt = timeIn(data.deadline_at);
      this.settleRun(run, this.read(null, run, at), at);
    }
    if (type !== 'run.recovered') return;
    recoverRun(run, event);
    // Where it would still be over, the recovery would have been refused.
    if (run.stopped) run.stopped = openRunLayers(this.read(null, run, at)).length > 0;
  }

  private create(id: string, run: SimRun, event: ReplayEvent): void {
    const { supersedes } = event.data;
    const replaced = typeof supersedes === 'string' ? fromWire('task', supersedes) : null;
    const task = simTask(id, event, replaced === null ? undefined : this.tasks.get(replaced));
    this.tasks.set(id, task);
    this.settle(task, run, event.at);
  }

  private onTask(id: string, run: SimRun, event: ReplayEvent): void {
    const task = this.tasks.get(id);
    if (task === undefined) {
      // It is done: what is still reported of it counts on its run only.
      spend(run, spentIn(event.data));
      if (isSettled(event)) this.settleRun(run, this.read(null, run, event.at), event.at);
      return;
    }
    const before = task.log;
    const after = countsIn(event.counters);
    const wasStopped = task.state === 'blocked' || task.state === 'cancelled';
    if (event.type === 'task.claimed') this.beforeStart(task, run, event.at);
    // A start of work found it over a limit that was lowered from above.
    if (event.type === 'trip.opened') this.tryStop(task, this.read(task, run, event.at), event.at);
    task.log = after;
    task.state = event.to ?? task.state;
    if (event.data.limits !== undefined && event.type === 'task.updated')
      task.own = limitsIn(event.data.limits);
    if (event.type === 'task.unblocked') this.unblock(task, run, event, after.unblocks > before.unblocks);
    else if (event.type === 'task.auto_recovered') this.autoRecover(task, run, after);
    else if (isIgnored(task, event, wasStopped)) this.save(event);
    else this.count(task, run, event, before, after);
    if (isSettled(event) && !isIgnored(task, event, wasStopped)) this.settle(task, run, event.at);
    if (event.type === 'task.failed' && task.fatalBy.length > 1) this.stopFatal(task, run, event.at);
    if (task.state === 'done') this.tasks.delete(id);
  }

  private beforeStart(task: SimTask, run: SimRun, at: number): void {
    if (task.stop !== null) return;
    const verdict = this.read(task, run, at);
    this.settleRun(run, verdict, at);
    if (run.stopped && !task.starved) task.stopAttempt = task.log.attempt;
    task.starved = run.stopped;
    this.tryStop(task, verdict, at);
  }

  private save({ type, data }: ReplayEvent): void {
    const { iterations, tokens, costMicros } = spentIn(data);
    this.saved.iterations += iterations + (type === 'task.claimed' ? 1 : 0);
    this.saved.reworks += type === 'task.rework_requested' ? 1 : 0;
    this.saved.tokens += tokens;
    this.saved.costMicros += costMicros;
  }

  private count(task: SimTask, run: SimRun, event: ReplayEvent, before: Counts, after: Counts): void {
    countOn(task, before, after);
    spend(run, spentIn(event.data));
    if (event.type === 'task.claimed') run.iterations += 1;
    task.fatalBy = fatalIn(task, event);
    const isFirst = event.type === 'task.submitted' && !task.submitted;
    if (isFirst || event.type === 'task.approved') this.progress(run, event.at);
    task.submitted ||= isFirst;
  }

  private progress(run: SimRun, at: number): void {
    const isOpen = !run.closed && !run.stopped && (at >= this.terms.since || !run.tripped);
    if (run.sinceProgress && isOpen) run.iterations = 0;
  }

  private unblock(task: SimTask, run: SimRun, { data, at }: ReplayEvent, afterTrip: boolean): void {
    const changes = objectIn(data.changes);
    task.own = { ...task.own, ...limitsIn(changes.limits) };
    const { counts } = task;
    const tokens = changes.reset_tokens === true ? 0 : counts.tokens;
    if (task.stop === null && !afterTrip) {
      counts.tokens = tokens;
      return;
    }
    const lifted = unblocked(counts, tokens);
    // Where it would still be over, the unblock would have been refused.
    const stays =
      task.stop !== null && openTaskLayers(this.read({ ...task, counts: lifted }, run, at)).length > 0;
    if (stays) return;
    Object.assign(counts, lifted);
    task.stop = null;
    task.fatalBy = [];
  }

  private autoRecover(task: SimTask, run: SimRun, after: Counts): void {
    if (task.stop !== null && task.stop !== 'error') return;
    const { maxErrors } = this.limitsOf(task, run);
    task.stop = null;
    task.counts.errors = Math.min(task.counts.errors, Math.max(0, maxErrors - 1), after.errors);
  }

  private settle(task: SimTask, run: SimRun, at: number): void {
    const verdict = this.read(task, run, at);
    this.tryStop(task, verdict, at);
    this.settleRun(run, verdict, at);
  }

  private tryStop(task: SimTask, verdict: Verdict, at: number): void {
    const [open] = openTaskLayers(verdict);
    if (open !== undefined && this.canStop(task, at)) this.stop(task, open, at);
  }

  /** A second agent's `fatal` blocks the task whatever its limits say. */
  private stopFatal(task: SimTask, run: SimRun, at: number): void {
    const { maxErrors } = this.limitsOf(task, run);
    if (this.canStop(task, at)) this.stop(task, readLayer('error', task.counts.errors, maxErrors), at);
  }

  private canStop(task: SimTask, at: number): boolean {
    const { state } = task;
    const isOpen = state !== 'blocked' && state !== 'done' && state !== 'cancelled';
    return isOpen && !isHeld(task) && at >= this.terms.since;
  }

  private stop(task: SimTask, layer: LayerReading, at: number): void {
    task.stop = layer.kind;
    task.stopAttempt = task.log.attempt;
    this.note({ taskId: task.id, runId: null }, layer, at);
  }

  private settleRun(run: SimRun, verdict: Verdict, at: number): void {
    const [open] = openRunLayers(verdict);
    if (open === undefined || run.stopped || run.closed || at < this.terms.since) return;
    run.stopped = true;
    this.note({ taskId: null, runId: run.id }, open, at);
  }

  private note(what: Pick<Stop, 'taskId' | 'runId'>, { kind, value, limit }: LayerReading, at: number): void {
    this.stoppedCount += 1;
    if (this.stopped.length < STOPS_MAX) this.stopped.push({ ...what, kind, at, value, limit });
  }

  private limitsOf(task: SimTask, run: SimRun) {
    const { server, limits } = this.terms;
    return { ...effectiveLimits(task.own, run.own, this.project, server), ...limits };
  }

  /** The guard's reading, by the guard itself. */
  private read(task: SimTask | null, run: SimRun, at: number): Verdict {
    const { server, limits } = this.terms;
    const runLimits = { ...effectiveRunLimits(run.own, this.project, server), ...limits };
    return evaluate({
      task: task === null ? null : { counters: countersOf(task), limits: this.limitsOf(task, run) },
      run: { counters: run, limits: runLimits, startedAt: run.startedAt },
      now: at,
    });
  }
}
