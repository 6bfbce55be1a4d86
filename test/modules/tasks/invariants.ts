import { expect } from 'vitest';
import { evaluate, openTaskLayers } from '../../../src/modules/guard/evaluate.js';
import { effectiveLimits, effectiveRunLimits } from '../../../src/modules/guard/limits.js';
import { TASK_LAYERS } from '../../../src/modules/guard/types.js';
import { standIns } from '../../../src/modules/tasks/decide/dependencies.js';
import { countersOf } from '../../../src/modules/tasks/decide/draft.js';
import { guardInputOf } from '../../../src/modules/tasks/decide/settle.js';
import { type Decision, Draft } from '../../../src/modules/tasks/decide.js';
import { TRANSITIONS } from '../../../src/modules/tasks/transitions.js';
import type { Command, Task } from '../../../src/modules/tasks/types.js';
import { SERVER, someAgent } from '../../support/builders.js';
import type { World } from '../../support/view.js';

const nobody = someAgent('nobody', 'planner');

/** What holds after every command of the tasks that it changed, whatever was sent. */
export function expectSound(world: World, changed: Iterable<string>): void {
  for (const id of changed) {
    const task = world.taskOf(id);
    expectLease(task);
    expectBlock(world, task);
    expectCounters(world, task);
    expectAttempts(world, task);
    expectWithinLimits(world, task);
  }
}

/** What holds in the end: of every task, and of the log. */
export function expectSoundLog(world: World): void {
  expectSound(world, world.tasks.keys());
  for (const task of world.tasks.values()) {
    const own = world.events.filter((event) => event.taskId === task.id);
    expect(own.map(({ number }) => number)).toEqual(
      Array.from({ length: task.eventNumber }, (_, i) => i + 1),
    );
    const last = own.at(-1);
    if (last !== undefined) expect(last.counters).toEqual(countersOf(task));
  }
  expectNoStartUnderTrip(world);
}

function expectLease({ state, lease, claimedBy }: Task): void {
  expect(lease?.kind === 'work').toBe(state === 'in_progress');
  if (lease?.kind === 'review') expect(state).toBe('in_review');
  if (lease?.kind === 'work') expect(claimedBy).toBe(lease.agentId);
}

function expectBlock(world: World, task: Task): void {
  const { state, block, memory, id, finishedAt } = task;
  expect(block !== null).toBe(state === 'blocked');
  expect(finishedAt !== null).toBe(state === 'done' || state === 'cancelled');
  const open = [...world.trips.values()].filter((trip) => trip.taskId === id && trip.state !== 'closed');
  expect(open.map((trip) => trip.id)).toEqual(memory.trip === null ? [] : [memory.trip.id]);
  const byLimit = TASK_LAYERS.some((layer) => layer === block?.kind);
  expect(open.filter((trip) => trip.state === 'open')).toHaveLength(byLimit ? 1 : 0);
  if (byLimit) expect(memory.trip?.kind).toBe(block?.kind);
}

function expectCounters(world: World, task: Task): void {
  const { counters } = task;
  expect(counters.reworkCount).toBeLessThanOrEqual(counters.reworkTotal);
  expect(counters.errorCount).toBeLessThanOrEqual(counters.errorTotal);
  for (const value of Object.values(counters))
    if (typeof value === 'number') expect(value).toBeGreaterThanOrEqual(0);
  const found = standIns(new Draft(world.context(nobody), 'update'), task.dependsOn);
  const unmet = 'tasks' in found ? found.tasks.filter(({ state }) => state !== 'done').length : -1;
  if (task.finishedAt === null) expect(task.unmet).toBe(unmet);
  const inVain = 'tasks' in found && found.tasks.some(({ state }) => state === 'cancelled');
  if (inVain && task.finishedAt === null) expect(task.state).toBe('blocked');
}

function expectAttempts(world: World, task: Task): void {
  const attempts = world.attempts.filter(({ taskId }) => taskId === task.id);
  expect(attempts.map(({ number }) => number)).toEqual(Array.from({ length: task.attempt }, (_, i) => i + 1));
  for (const { number, outcome, endedAt, verdict, agentId } of attempts) {
    expect(outcome === 'in_progress').toBe(task.state === 'in_progress' && number === task.attempt);
    expect(endedAt === null).toBe(outcome === 'in_progress');
    expect(task.memory.workers).toContain(agentId);
    const workers = attempts.filter((earlier) => earlier.number <= number).map((earlier) => earlier.agentId);
    if (verdict !== null) expect(workers).not.toContain(verdict.by);
  }
  const last = attempts.at(-1);
  if (task.state === 'in_review' || task.state === 'done') expect(last?.result).not.toBeNull();
  expect(last?.verdict?.approved === true).toBe(task.state === 'done');
}

/** Each limit stops on exactly the command that reached it: nobody may go on with what is over. */
function expectWithinLimits(world: World, task: Task): void {
  const run = world.run(task.runId);
  if (run === null || task.finishedAt !== null || task.state === 'blocked') return;
  const limits = effectiveLimits(task.limits, run.limits, {}, SERVER);
  const input = guardInputOf(task, limits, run, effectiveRunLimits(run.limits, {}, SERVER), world.now);
  const verdict = evaluate(input);
  expect(openTaskLayers(verdict)).toEqual([]);
  const iteration = verdict.layers.find(({ kind }) => kind === 'iteration');
  expect(iteration?.state === 'open').toBe(run.state === 'tripped');
}

/** Between a trip and what lifts it nothing starts. */
function expectNoStartUnderTrip(world: World): void {
  const stopped = new Set<string>();
  for (const { type, taskId, runId } of world.events) {
    const about = taskId ?? runId ?? '';
    if (type === 'trip.opened') stopped.add(about);
    if (type === 'trip.resolved' || type === 'task.auto_recovered') stopped.delete(about);
    if (type === 'task.claimed')
      expect([stopped.has(about), stopped.has(runId ?? '')]).toEqual([false, false]);
  }
}

/** What a refused command may leave: facts that were true before it and are only recorded. */
const RECORDED = [
  'task.lease_expired',
  'task.review_expired',
  'task.late_result',
  'guard.refused',
  'guard.warned',
  'trip.opened',
  'trip.escalated',
  'task.blocked',
  'run.tripped',
];
const ONLY_TOLD = ['task.late_result', 'guard.refused'];

const STOPPED_MAY = ['heartbeat', 'submit', 'fail'];

/** What holds of one command and the task that it was sent on. */
export function expectLawful(
  before: Task,
  after: Task,
  command: Command,
  { draft, outcome }: Decision,
): void {
  expect(after.version - before.version).toBeGreaterThanOrEqual(0);
  expect(after.version - before.version).toBeLessThanOrEqual(1);
  for (const name of ['reworkTotal', 'errorTotal', 'tripCount', 'unblockCount'] as const)
    expect(after.counters[name]).toBeGreaterThanOrEqual(before.counters[name]);
  if (before.finishedAt !== null) expect(after.state).toBe(before.state);

  if (outcome.kind === 'refused') {
    for (const { type } of draft.events) expect(RECORDED).toContain(type);
    if (!draft.events.every(({ type }) => ONLY_TOLD.includes(type))) return;
    const { refused } = after.memory;
    expect(after).toEqual({
      ...before,
      eventNumber: after.eventNumber,
      memory: { ...before.memory, refused },
    });
    return;
  }
  if (after.state === before.state) return;
  // Whoever was stopped hands in whatever the state: it stays, unless the tokens reported cross a limit.
  const fromStopped = before.memory.last?.outcome === 'stopped' && STOPPED_MAY.includes(command.type);
  if (fromStopped && before.lease === null) {
    expect(after.state).toBe('blocked');
    return;
  }
  const { from, to } = TRANSITIONS[command.type];
  expect(from).toContain(before.state);
  expect(to).toContain(after.state);
}

/** A token that no longer holds, and did not end by a stop, moves nothing. */
export function expectFenced(before: Task, after: Task, leaseToken: number, agentId: string | null): void {
  const { lease, memory } = before;
  const holds = lease?.token === leaseToken && lease.agentId === agentId;
  const { last } = memory;
  const stopped = last?.outcome === 'stopped' && last.token === leaseToken && last.agentId === agentId;
  if (holds || stopped) return;
  expect({
    state: after.state,
    counters: after.counters,
    lease: after.lease,
    version: after.version,
  }).toEqual({
    state: before.state,
    counters: before.counters,
    lease: before.lease,
    version: before.version,
  });
}
