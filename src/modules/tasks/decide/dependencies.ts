import { toWire } from '../../../kernel/ids.js';
import type { Refusal } from '../../../kernel/refusal.js';
import type { Task } from '../types.js';
import type { Draft } from './draft.js';
import { isTerminal, stopWork } from './machine.js';

/** Who stands for a task now: itself, or the last in the line of those that supersede it. */
export function standIn(draft: Draft, task: Task): Task {
  let current = task;
  while (current.supersededBy !== null) current = draft.taskOf(current.supersededBy);
  return current;
}

/** The tasks that must be done before one with these dependencies may start, once each; or the id that is not there. */
export function standIns(
  draft: Draft,
  dependsOn: readonly string[],
): { tasks: Task[] } | { missing: string } {
  const found = new Map<string, Task>();
  for (const id of dependsOn) {
    const task = draft.task(id);
    if (task === null) return { missing: id };
    const actual = standIn(draft, task);
    found.set(actual.id, actual);
  }
  return { tasks: [...found.values()] };
}

/** A dependency that is not there, whether it never was or is another project's. */
export function missingDependency(id: string): Refusal {
  return {
    code: 'not_found',
    detail: `There is no task ${toWire('task', id)} to depend on in this project. Create it first, or name it by its ref in one plan.`,
  };
}

/** The dependencies would form a circle, and nothing in it could ever start. */
export function cycleRefusal(ids: readonly string[]): Refusal {
  return {
    code: 'dependency_cycle',
    detail:
      'These dependencies form a circle, so that none of its tasks could ever start. Remove one of them.',
    facts: { tasks: [...ids] },
  };
}

/** Makes a task wait for others: edges for the unmet, and how many they are. */
export function waitFor(draft: Draft, taskId: string, dependencies: readonly Task[]): number {
  const unmet = dependencies.filter((dependency) => dependency.state !== 'done');
  for (const dependency of unmet) {
    if (!dependency.hasDependants) draft.putQuietly({ ...draft.taskOf(dependency.id), hasDependants: true });
    draft.edges.push({ taskId, dependsOnId: dependency.id });
  }
  return unmet.length;
}

/** A task is done: whoever waited for it waits for one less, and may start when it was the last. */
export function resolveDependants(draft: Draft, taskId: string): void {
  for (const dependant of openDependants(draft, taskId)) {
    const unmet = Math.max(0, dependant.unmet - 1);
    const { now } = draft.context;
    draft.putQuietly({
      ...dependant,
      unmet,
      readyAt: unmet === 0 ? Math.max(now, dependant.readyAt) : dependant.readyAt,
    });
  }
}

/** A task is cancelled: what waited for it would wait for ever, so it blocks and says why. */
export function blockDependants(draft: Draft, taskId: string): void {
  for (const dependant of openDependants(draft, taskId)) {
    if (dependant.state === 'blocked') continue;
    const reason = `it depends on ${toWire('task', taskId)}, which was cancelled`;
    const from = dependant.state;
    draft.put({ ...stopWork(draft, dependant), state: 'blocked', block: { kind: 'dependency', reason } });
    draft.emit('task.blocked', dependant.id, {
      from,
      to: 'blocked',
      reason,
      data: { kind: 'dependency', depends_on: toWire('task', taskId) },
    });
  }
}

function openDependants(draft: Draft, taskId: string): Task[] {
  return draft.context.view
    .dependants(taskId)
    .map((task) => draft.taskOf(task.id))
    .filter((task) => !isTerminal(task.state));
}
