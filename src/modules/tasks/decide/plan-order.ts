import { ok, type Refusal, type Result } from '../../../kernel/refusal.js';
import type { NewTask } from '../types.js';

/** Tasks of a plan so that each comes after those of the plan it depends on; refused when some of them form a circle. */
export function inDependencyOrder(tasks: readonly NewTask[]): Result<readonly NewTask[]> {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const waiting = new Map(
    tasks.map((task) => [task.id, new Set(task.dependsOn.filter((id) => byId.has(id)))]),
  );
  const unlocks = new Map<string, string[]>();
  for (const [id, needs] of waiting)
    for (const need of needs) unlocks.set(need, [...(unlocks.get(need) ?? []), id]);
  const ready = tasks.filter((task) => waiting.get(task.id)?.size === 0);
  const ordered: NewTask[] = [];
  for (let task = ready.shift(); task !== undefined; task = ready.shift()) {
    ordered.push(task);
    waiting.delete(task.id);
    for (const id of unlocks.get(task.id) ?? []) {
      const needs = waiting.get(id);
      needs?.delete(task.id);
      const next = byId.get(id);
      if (needs?.size === 0 && next !== undefined) ready.push(next);
    }
  }
  return waiting.size === 0 ? ok(ordered) : { ok: false, refusal: circleRefusal(tasks, circleIn(waiting)) };
}

/** One circle among tasks of which each still waits for another of them, each before the one it waits for. */
function circleIn(waiting: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const path: string[] = [];
  let [id] = waiting.keys();
  while (id !== undefined && !path.includes(id)) {
    path.push(id);
    [id] = waiting.get(id) ?? [];
  }
  return id === undefined ? path : path.slice(path.indexOf(id));
}

function circleRefusal(tasks: readonly NewTask[], circle: readonly string[]): Refusal {
  const places = circle.map((id) => tasks.findIndex((task) => task.id === id));
  const titles = [...places, ...places.slice(0, 1)].map((place) => `“${tasks[place]?.title ?? ''}”`);
  return {
    code: 'dependency_cycle',
    detail: `These tasks wait for each other in a circle, so that none of them could ever start: ${titles.join(' → ')}. Remove one of their dependencies.`,
    errors: places.map((place) => ({
      pointer: `/tasks/${place}/depends_on`,
      detail: 'Waits, by way of the others, for itself.',
      code: 'dependency_cycle',
    })),
  };
}
