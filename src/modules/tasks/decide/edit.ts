import { ok, type Result } from '../../../kernel/refusal.js';
import { ownLimitsToWire } from '../../guard/wire.js';
import type { CommandOf, Task, TaskEdit } from '../types.js';
import {
  blockForDependency,
  cycleRefusal,
  givenUp,
  missingDependency,
  reaches,
  standIns,
  waitFor,
} from './dependencies.js';
import type { Draft } from './draft.js';
import { isTerminal, readyFrom } from './machine.js';
import * as refusal from './refusals.js';
import { settle } from './settle.js';

/** Changes what a task says. Its state and counters are nobody's to write. */
export function update(draft: Draft, command: CommandOf<'update'>): Result<null> {
  const task = draft.taskOf(command.taskId);
  const { edit } = command;
  if (edit.limits !== undefined && !draft.context.actor.roles.includes('operator')) {
    return {
      ok: false,
      refusal: {
        code: 'forbidden_role',
        detail: "A task's limits are changed by an operator, or by a planner in the form of an unblock.",
        facts: { required_roles: ['operator'] },
      },
    };
  }
  if (isTerminal(task.state)) return { ok: false, refusal: refusal.invalidTransition(task, 'update') };
  const edited = applyEdit(draft, task, edit);
  if (!edited.ok) return edited;
  const changed = changedFields(task, edited.value);
  if (changed.length === 0) return ok(null);
  const weighty = changed.some(
    (field) => field !== 'priority' && field !== 'labels' && field !== 'not_before',
  );
  const { memory } = edited.value;
  draft.put({
    ...edited.value,
    memory: { ...memory, changedSinceTrip: memory.changedSinceTrip || (memory.trip !== null && weighty) },
  });
  const limits = changed.includes('limits') ? { limits: ownLimitsToWire(edited.value.limits) } : {};
  draft.emit('task.updated', task.id, { from: task.state, to: task.state, data: { changed, ...limits } });
  settle(draft, task.id);
  if (changed.includes('depends_on'))
    blockForDependency(draft, draft.taskOf(task.id), givenUp(draft, edited.value.dependsOn));
  return ok(null);
}

/** The task as an edit makes it. Limits given are laid over those it has; new dependencies are checked and waited for. */
export function applyEdit(draft: Draft, task: Task, edit: TaskEdit): Result<Task> {
  const { now } = draft.context;
  let next: Task = {
    ...task,
    title: edit.title ?? task.title,
    description: edit.description ?? task.description,
    acceptance: edit.acceptance ?? task.acceptance,
    priority: edit.priority ?? task.priority,
    labels: edit.labels ?? task.labels,
    limits: edit.limits === undefined ? task.limits : { ...task.limits, ...edit.limits },
  };
  if (edit.notBefore !== undefined)
    next = { ...next, notBefore: edit.notBefore, readyAt: readyFrom({ notBefore: edit.notBefore }, now) };
  if (edit.dependsOn !== undefined) {
    const dependsOn = [...new Set(edit.dependsOn)];
    const dependencies = standIns(draft, dependsOn);
    if ('missing' in dependencies) return { ok: false, refusal: missingDependency(dependencies.missing) };
    const circular = dependencies.tasks.filter(({ id }) => reaches(draft, id, task.id));
    if (circular.length > 0) return { ok: false, refusal: cycleRefusal(circular.map(({ id }) => id)) };
    dropEdges(draft, task);
    next = {
      ...next,
      dependsOn,
      unmet: waitFor(draft, task.id, dependencies.tasks),
      readyAt: Math.max(now, next.readyAt),
    };
  }
  return ok(next);
}

function dropEdges(draft: Draft, task: Task): void {
  const known = standIns(draft, task.dependsOn);
  if ('missing' in known) return;
  for (const dependency of known.tasks)
    draft.droppedEdges.push({ taskId: task.id, dependsOnId: dependency.id });
}

/** The wire names of what an edit really changed. */
export function changedFields(before: Task, after: Task): string[] {
  const changed: string[] = [];
  if (before.title !== after.title) changed.push('title');
  if (before.description !== after.description) changed.push('description');
  if (!sameList(before.acceptance, after.acceptance)) changed.push('acceptance');
  if (before.priority !== after.priority) changed.push('priority');
  if (!sameList(before.labels, after.labels)) changed.push('labels');
  if (!sameList(before.dependsOn, after.dependsOn)) changed.push('depends_on');
  if (before.notBefore !== after.notBefore) changed.push('not_before');
  if (JSON.stringify(before.limits) !== JSON.stringify(after.limits)) changed.push('limits');
  return changed;
}

/** Whether two lists hold the same texts in the same order. */
export function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
