import {
  actionFor,
  crossings,
  evaluate,
  type GuardInput,
  graver,
  isRunLayer,
  isTaskLayer,
  openRunLayers,
  openTaskLayers,
  overPercent,
  severityOf,
} from '../../guard/evaluate.js';
import type { LayerReading, RunLimits, TaskLimits, Trip, Verdict } from '../../guard/types.js';
import { inUnits, layerToWire, tripFacts, verdictToWire } from '../../guard/wire.js';
import type { Run } from '../../runs/types.js';
import type { Task } from '../types.js';
import type { Draft } from './draft.js';
import { isTerminal, stopWork } from './machine.js';

/** The guard's reading of a task and its run as the draft has them now. */
export function readGuard(draft: Draft, task: Task): Verdict {
  const run = draft.runOf(task);
  return evaluate(guardInputOf(task, draft.limitsOf(task), run, draft.runLimitsOf(run), draft.context.now));
}

/** The guard's word on a task after the command: as it was settled, or as it reads now. */
export function verdictOf(draft: Draft, taskId: string): Verdict {
  return draft.verdicts.get(taskId) ?? readGuard(draft, draft.taskOf(taskId));
}

/** Writes the guard's word on the command's own event of each task. What follows in the same command says what it did. */
export function attachVerdicts(draft: Draft): void {
  const seen = new Set<string>();
  draft.events.forEach((event, index) => {
    if (event.taskId === null || seen.has(event.taskId)) return;
    seen.add(event.taskId);
    const guard = verdictToWire(verdictOf(draft, event.taskId));
    draft.events[index] = { ...event, data: { ...event.data, guard } };
  });
}

/** What the guard reads of a task and its run. */
export function guardInputOf(
  task: Task,
  limits: TaskLimits,
  run: Run,
  runLimits: RunLimits,
  now: number,
): GuardInput {
  return {
    task: { counters: guardCounters(task), limits },
    run: { counters: run, limits: runLimits, startedAt: run.createdAt },
    now,
  };
}

/** The attempt layer reads the attempt under way, or the one that would start next: a 21st start is what must not happen. */
function guardCounters(task: Task): Task['counters'] {
  const wouldStart = task.state === 'pending' || task.state === 'rework' ? 1 : 0;
  return { ...task.counters, attemptsSinceUnblock: task.counters.attemptsSinceUnblock + wouldStart };
}

/**
 * Holds the limits against what a command has just done: warnings for lines crossed, a trip for the highest open task
 * layer, which blocks the task; and likewise for its run. The command itself stands; what it reached stops the next one.
 * `grave`: the task must stop for an operator, whatever its counters say.
 */
export function settle(draft: Draft, taskId: string, grave = false): Verdict {
  const verdict = readGuard(draft, draft.taskOf(taskId));
  draft.verdicts.set(taskId, verdict);
  warn(draft, taskId, verdict);
  const task = draft.taskOf(taskId);
  const layer = openTaskLayers(verdict)[0] ?? (grave ? layerOf(verdict, 'error') : undefined);
  const isOpen = task.memory.trip !== null && task.memory.trip.state === 'open';
  if (isOpen) escalate(draft, task, verdict);
  else if (layer !== undefined && !isTerminal(task.state) && task.state !== 'blocked')
    trip(draft, task, layer, verdict, grave);
  settleRun(draft, draft.runOf(task), verdict);
  return verdict;
}

function layerOf(verdict: Verdict, kind: Trip['kind']): LayerReading | undefined {
  return verdict.layers.find((layer) => layer.kind === kind);
}

function warn(draft: Draft, taskId: string, verdict: Verdict): void {
  const task = draft.taskOf(taskId);
  const run = draft.runOf(task);
  const { crossed, warned } = crossings(verdict, [...task.memory.warned, ...run.memory.warned]);
  if (crossed.length === 0 && warned.length === task.memory.warned.length + run.memory.warned.length) return;
  draft.putQuietly({ ...task, memory: { ...task.memory, warned: warned.filter(isTaskLayer) } });
  draft.countOnRun({ ...run, memory: { ...run.memory, warned: warned.filter(isRunLayer) } });
  for (const layer of crossed) {
    draft.warnings.push(layer);
    draft.emit('guard.warned', taskId, { data: layerToWire(layer) });
  }
}

/**
 * Opens a task's trip and blocks the task; one that was half-open opens again. `grave` makes it HIGH whatever the value.
 */
export function trip(draft: Draft, task: Task, layer: LayerReading, verdict: Verdict, grave = false): Trip {
  const { counters } = task;
  const probed = task.memory.trip;
  const usedUp = counters.unblockCount >= draft.limitsOf(task).maxUnblocks;
  const severity = grave ? 'HIGH' : severityOf(layer.kind, layer.value, layer.limit, usedUp);
  const opened: Trip = {
    id: probed?.id ?? draft.context.newId(),
    scope: 'task',
    kind: layer.kind,
    taskId: task.id,
    runId: task.runId,
    value: layer.value,
    limit: layer.limit,
    overPercent: overPercent(layer.value, layer.limit),
    severity,
    actionRequired: actionFor(severity),
    state: 'open',
    layers: verdict.layers,
    openedAt: probed?.openedAt ?? draft.context.now,
    closedAt: null,
    resolution: null,
  };
  const from = task.state;
  const reason =
    layer.state === 'open' ? reachedText(layer) : 'two agents reported that they cannot work on it';
  const stopped = stopWork(draft, task);
  draft.put({
    ...stopped,
    state: 'blocked',
    block: { kind: layer.kind, reason },
    counters: { ...counters, tripCount: counters.tripCount + (probed === null ? 1 : 0) },
    memory: {
      ...stopped.memory,
      trip: opened,
      refused: [],
      changedSinceTrip: false,
      autoRecoverAt: autoRecoverAt(draft, task, opened),
    },
  });
  draft.trips.set(opened.id, opened);
  draft.trip = opened;
  const data = { ...tripFacts(opened), reopened: probed !== null };
  draft.emit('trip.opened', task.id, { from, to: 'blocked', reason, data });
  draft.emit('task.blocked', task.id, { from, to: 'blocked', reason, data: { kind: layer.kind } });
  return opened;
}

/**
 * When a trip that is just opening will recover by itself: errors of MEDIUM severity, so many times, unless the project wants a
 * planner to look. Null for every other trip. Source: domain, "Recovery".
 */
function autoRecoverAt(draft: Draft, task: Task, trip: Pick<Trip, 'kind' | 'severity'>): number | null {
  const { now, policies } = draft.context;
  if (trip.kind !== 'error' || trip.severity !== 'MEDIUM' || policies.errorRecovery === 'manual') return null;
  return task.memory.autoRecoveries < policies.maxAutoRecoveries
    ? now + policies.cooldownSeconds * 1000
    : null;
}

/** An open trip's severity rises with its value, and never falls. */
function escalate(draft: Draft, task: Task, verdict: Verdict): void {
  const open = task.memory.trip;
  if (open === null) return;
  const layer = layerOf(verdict, open.kind);
  if (layer === undefined || layer.value <= open.value) return;
  const usedUp = task.counters.unblockCount >= draft.limitsOf(task).maxUnblocks;
  const severity = graver(open.severity, severityOf(layer.kind, layer.value, layer.limit, usedUp));
  const risen: Trip = {
    ...open,
    value: layer.value,
    limit: layer.limit,
    overPercent: overPercent(layer.value, layer.limit),
    severity,
    actionRequired: actionFor(severity),
    layers: verdict.layers,
  };
  draft.putQuietly({ ...task, memory: { ...task.memory, trip: risen } });
  draft.trips.set(risen.id, risen);
  if (severity !== open.severity) draft.emit('trip.escalated', task.id, { data: tripFacts(risen) });
}

/** A run over a budget is tripped: nothing in it starts until it is recovered; what is in flight is handed in as ever. */
export function settleRun(draft: Draft, run: Run, verdict: Verdict): void {
  const open = openRunLayers(verdict);
  const known = run.memory.trip;
  const layer = known === null ? open[0] : layerOf(verdict, known.kind);
  if (layer === undefined || run.state === 'closed') return;
  if (known !== null && layer.value <= known.value) return;
  const usedUp = run.recoverCount >= draft.limitsFor(run).maxUnblocks;
  const severity = graver(known?.severity ?? 'LOW', severityOf(layer.kind, layer.value, layer.limit, usedUp));
  const tripped: Trip = {
    id: known?.id ?? draft.context.newId(),
    scope: 'run',
    kind: layer.kind,
    taskId: null,
    runId: run.id,
    value: layer.value,
    limit: layer.limit,
    overPercent: overPercent(layer.value, layer.limit),
    severity,
    actionRequired: actionFor(severity),
    state: 'open',
    layers: open,
    openedAt: known?.openedAt ?? draft.context.now,
    closedAt: null,
    resolution: null,
  };
  draft.trips.set(tripped.id, tripped);
  if (known !== null) {
    draft.countOnRun({ ...run, memory: { ...run.memory, trip: tripped } });
    if (severity !== known.severity) draft.emitOfRun('trip.escalated', run, { data: tripFacts(tripped) });
    return;
  }
  draft.trip ??= tripped;
  const next = draft.putRun({
    ...run,
    state: 'tripped',
    openTripId: tripped.id,
    tripCount: run.tripCount + 1,
    memory: { ...run.memory, trip: tripped, refused: [], changedSinceTrip: false },
  });
  const reason = reachedText(layer);
  draft.emitOfRun('trip.opened', next, { reason, data: tripFacts(tripped) });
  draft.emitOfRun('run.tripped', next, { reason });
}

function reachedText(layer: LayerReading): string {
  return `the ${layer.kind} limit was reached: ${inUnits(layer.kind, layer.value)} of ${inUnits(layer.kind, layer.limit)}`;
}
