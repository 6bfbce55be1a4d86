import type { Layer } from '../../../../src/modules/guard/types.js';
import { type Board, budgetOf, isFinal, last, limitsOf, type Run, runOf, type Task } from './board.js';

interface Reading {
  readonly kind: Layer;
  readonly value: number;
  readonly open: boolean;
  /** Beyond what a planner may recover from. */
  readonly high: boolean;
}

const at = (kind: Layer, value: number, limit: number, mediumTo = Number.POSITIVE_INFINITY): Reading => ({
  kind,
  value,
  open: value >= limit,
  high: value * 100 > limit * mediumTo,
});

const above = (kind: Layer, value: number, limit: number | null, mediumTo?: number): Reading[] =>
  limit === null ? [] : [{ ...at(kind, value, limit, mediumTo), open: value > limit }];

/** A task's layers, highest first. */
export function readTask(board: Board, task: Task): Reading[] {
  const limits = limitsOf(board, task);
  const next = task.state === 'pending' || task.state === 'rework' ? 1 : 0;
  return [
    ...above('token', task.tokens, limits.maxTokens, 150),
    ...above('cost', task.cost, limits.maxCostMicros, 150),
    at('error', task.errors, limits.maxErrors),
    at('rework', task.reworks, limits.maxReworks),
    at('review', task.reviewFailures, limits.maxReviewFailures),
    ...above('attempt', task.starts + next, limits.maxAttempts),
  ];
}

/** A run's layers, highest first. */
export function readRun(board: Board, run: Run): Reading[] {
  const limits = budgetOf(board, run);
  const seconds = (time: number) => Math.ceil((time - run.startedAt) / 1000);
  return [
    ...(run.deadline === null ? [] : above('deadline', seconds(board.now), seconds(run.deadline))),
    at('iteration', run.iterations, limits.maxIterations, 120),
    ...above('run_tokens', run.tokens, limits.maxRunTokens, 150),
    ...above('run_cost', run.cost, limits.maxRunCostMicros, 150),
  ];
}

export const over = (readings: readonly Reading[]): Reading[] => readings.filter(({ open }) => open);

/** Ends whatever is under way because the task is stopped under its holder. */
export function stop(task: Task): void {
  const attempt = last(task);
  if (task.lease?.kind === 'work' && attempt !== undefined) attempt.outcome = 'stopped';
  task.lease = null;
}

/** Holds every limit against what has just happened: what is over blocks the task, or trips the run. */
export function settle(board: Board, task: Task, byTwoFatal = false): void {
  const readings = readTask(board, task);
  const [highest] = over(readings);
  if (task.trip !== null && !task.trip.probing) rise(task.trip, readings, usedUp(board, task));
  else if (highest !== undefined || byTwoFatal) {
    const error = readings.find(({ kind }) => kind === 'error');
    const layer = highest ?? error;
    if (layer !== undefined && !isFinal(task) && task.state !== 'blocked')
      trip(board, task, layer, byTwoFatal);
  }
  settleRun(board, runOf(board, task.run));
}

const usedUp = (board: Board, task: Task) => task.unblocks >= limitsOf(board, task).maxUnblocks;

/** The severity of an open trip rises with its value, and never falls. */
function rise(open: Trip, readings: readonly Reading[], noneLeft: boolean): void {
  const now = readings.find(({ kind }) => kind === open.kind);
  if (now === undefined || now.value <= open.value) return;
  open.value = now.value;
  open.high ||= now.high || noneLeft;
}
type Trip = NonNullable<Task['trip']>;

/** Blocks a task by a limit. One that was probing is the same incident again. */
export function trip(board: Board, task: Task, { kind, value, high }: Reading, byTwoFatal = false): void {
  const { cooldownSeconds, maxAutoRecoveries } = board.rules;
  const isHigh = high || byTwoFatal || usedUp(board, task);
  if (task.trip === null) task.trips += 1;
  task.trip = { kind, value, high: isHigh, probing: false };
  stop(task);
  task.state = 'blocked';
  task.block = kind;
  task.changedSinceTrip = false;
  const recovers = kind === 'error' && !isHigh && task.probes < maxAutoRecoveries;
  task.probeAt = recovers ? board.now + cooldownSeconds * 1000 : null;
}

export function settleRun(board: Board, run: Run): void {
  const readings = readRun(board, run);
  const [highest] = over(readings);
  const noneLeft = run.recoveries >= budgetOf(board, run).maxUnblocks;
  if (run.trip !== null) rise(run.trip, readings, noneLeft);
  if (run.trip !== null || highest === undefined || run.state === 'closed') return;
  const { kind, value, high } = highest;
  run.trip = { kind, value, high: high || noneLeft, probing: false };
  run.trips += 1;
  run.state = 'tripped';
  run.changedSinceTrip = false;
}

/** Once its cooldown is over, a task that its errors have blocked is given one more try, with one error left. */
export function tryAgain(board: Board, task: Task): void {
  if (task.state !== 'blocked' || task.trip === null) return;
  task.probeAt = null;
  const left = Math.max(0, limitsOf(board, task).maxErrors - 1);
  const state = task.reworks > 0 ? 'rework' : 'pending';
  const trial: Task = { ...task, state, errors: Math.min(task.errors, left) };
  if (over(readTask(board, trial)).length > 0) return;
  task.errors = trial.errors;
  task.state = state;
  task.block = null;
  task.ready = Math.max(board.now, task.notBefore ?? 0);
  task.trip.probing = true;
  task.probes += 1;
}

/** A result is what the one more try was for: the errors are over. */
export function endProbe(task: Task): void {
  if (!task.trip?.probing) return;
  task.trip = null;
  task.changedSinceTrip = false;
  task.errors = 0;
}
