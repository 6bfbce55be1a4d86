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

/** Whether waiting for one task means, sooner or later, waiting for the other. */
export function reaches(draft: Draft, from: string, to: string): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === to) return true;
    if (seen.has(id)) continue;
    seen.add(id);
    const changed = draft.tasks.get(id);
    open.push(...(changed === undefined ? draft.context.view.waitsFor(id) : waitsFor(changed)));
  }
  return false;
}

/** What a task waits for: its dependencies, or the task in its place. */
export function waitsFor(task: Pick<Task, 'dependsOn' | 'supersededBy'>): readonly string[] {
  return task.supersededBy === null ? task.dependsOn : [task.supersededBy];
}

/** The dependencies would form a circle, and nothing in it could ever start. */
export function cycleRefusal(ids: readonly string[]): Refusal {
  return {
    code: 'dependency_cycle',
    detail:
      'These dependencies form a circle, so that none of its tasks could ever start. Remove one of them.',
    facts: { tasks: ids.map((id) => toWire('task', id)) },
  };
}

/** Makes a task wait for others: edges for the unmet, and how many they are. */
export function waitFor(draft: Draft, taskId: string, dependencies: readonly Task[]): number {
  const unmet = dependencies.filter((dependency) => dependency.state !== 'done');
  for (const { id } of unmet) addEdge(draft, taskId, id);
  return unmet.length;
}

/** Makes whoever waits for one task wait for another in its place. */
export function waitForInstead(draft: Draft, oldId: string, newId: string): void {
  for (const { id } of openDependants(draft, oldId)) addEdge(draft, id, newId);
}

/** Makes a task wait no longer for another: whoever takes that one's place later is nothing to it either. */
export function waitNoLonger(draft: Draft, taskId: string, dependsOnId: string): void {
  const added = draft.edges.findIndex((edge) => edge.taskId === taskId && edge.dependsOnId === dependsOnId);
  if (added !== -1) draft.edges.splice(added, 1);
  draft.droppedEdges.push({ taskId, dependsOnId });
}

function addEdge(draft: Draft, taskId: string, dependsOnId: string): void {
  const dependency = draft.taskOf(dependsOnId);
  if (!dependency.hasDependants) draft.putQuietly({ ...dependency, hasDependants: true });
  draft.edges.push({ taskId, dependsOnId });
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
  const cancelled = draft.taskOf(taskId);
  for (const dependant of openDependants(draft, taskId)) blockForDependency(draft, dependant, cancelled);
}

/** The dependency for which a task would wait for ever, because it was given up; null when there is none. */
export function givenUp(draft: Draft, dependsOn: readonly string[]): Task | null {
  const found = standIns(draft, dependsOn);
  return 'tasks' in found ? (found.tasks.find(({ state }) => state === 'cancelled') ?? null) : null;
}

/** Blocks a task that waits for one that was given up, unless it is blocked or finished already. */
export function blockForDependency(draft: Draft, task: Task, cancelled: Task | null): void {
  if (cancelled === null || task.state === 'blocked' || isTerminal(task.state)) return;
  const block = waitsInVain(cancelled);
  draft.put({ ...stopWork(draft, task), state: 'blocked', block });
  draft.emit('task.blocked', task.id, {
    from: task.state,
    to: 'blocked',
    reason: block.reason,
    data: { kind: block.kind, depends_on: toWire('task', cancelled.id) },
  });
}

/** The block of a task that waits for one that was given up. */
export function waitsInVain(cancelled: Task): { readonly kind: 'dependency'; readonly reason: string } {
  return {
    kind: 'dependency',
    reason: `it depends on ${toWire('task', cancelled.id)}, which was cancelled`,
  };
}

/** Who waits for a task, as it was loaded and as this command has changed it. */
function openDependants(draft: Draft, taskId: string): Task[] {
  const { edges, droppedEdges } = draft;
  const ids = new Set(draft.context.view.dependants(taskId).map(({ id }) => id));
  for (const edge of droppedEdges) if (edge.dependsOnId === taskId) ids.delete(edge.taskId);
  for (const edge of edges) if (edge.dependsOnId === taskId) ids.add(edge.taskId);
  return [...ids].map((id) => draft.taskOf(id)).filter((task) => !isTerminal(task.state));
}
