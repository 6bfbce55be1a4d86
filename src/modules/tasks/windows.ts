import type { QueueFilter } from './decide/context.js';
import { placementOf } from './decide/machine.js';
import type { Task } from './types.js';

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

const WINDOW_SIZE = 128;
const WINDOW_SIZE_MAX = 8_192;
const WINDOW_GROWTH = 8;
/** A window longer than this is cut back to its usual size, once the batch that looked so far is over. */
const WINDOW_KEPT = 1_024;

/** The heads of a project's queues, each in claim order, kept as tasks enter and leave them. */
export class Windows {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly taskOf: (id: string) => Task | null,
    private readonly now: () => number,
  ) {}

  get size(): number {
    return this.windows.size;
  }

  clear(): void {
    this.windows.clear();
  }

  /** What was read for one batch may be read again for the next. */
  endBatch(): void {
    for (const window of this.windows.values()) window.fresh = false;
  }

  /** The window of a queue, empty when it was never asked for. */
  of(filter: QueueFilter): Window {
    const key = `${filter.purpose}|${filter.runId ?? ''}|${filter.labels.join('\u0000')}`;
    let window = this.windows.get(key);
    if (window === undefined) {
      window = { filter, ids: [], complete: false, size: WINDOW_SIZE, fresh: false, starved: true };
      this.windows.set(key, window);
    }
    return window;
  }

  /** The head of a queue as it was read. */
  fill(window: Window, tasks: readonly Task[]): void {
    window.ids = tasks.map((task) => task.id);
    window.complete = tasks.length < window.size;
    window.size = WINDOW_SIZE;
    window.fresh = true;
    window.starved = false;
  }

  /**
   * Whether a claim that came to the end of its window should look behind it. The first look reads the window anew, because
   * it was only used up; each further one reads a larger window, because what it holds is passed over.
   */
  wantsMore(filter: QueueFilter, looks: number): boolean {
    const window = this.of(filter);
    if (!window.starved) return false;
    const sizeAt = (look: number) => Math.min(WINDOW_SIZE * WINDOW_GROWTH ** look, WINDOW_SIZE_MAX);
    if (looks > 0 && sizeAt(looks - 1) === WINDOW_SIZE_MAX) return false;
    window.size = sizeAt(looks);
    return true;
  }

  /** The tasks of a queue in claim order, as far as they are known. */
  *queue(filter: QueueFilter): Generator<Task> {
    const window = this.of(filter);
    for (const id of [...window.ids]) {
      const task = this.taskOf(id);
      if (task !== null) yield task;
    }
    if (!window.complete) window.starved = true;
  }

  /** Puts a task where it belongs now, in every window. */
  place(task: Task): void {
    for (const window of this.windows.values()) this.placeIn(window, task);
  }

  private placeIn(window: Window, task: Task): void {
    const at = window.ids.indexOf(task.id);
    const belongs =
      placementOf(task, this.now()).queue === window.filter.purpose && matches(task, window.filter);
    if (at !== -1) window.ids.splice(at, 1);
    if (!belongs) return;
    let index = window.ids.length;
    while (index > 0 && this.comesBefore(task, window.ids[index - 1])) index--;
    // Behind the last one known there may be others that come first: only a complete window can say.
    if (index < window.ids.length || window.complete) window.ids.splice(index, 0, task.id);
    if (window.ids.length > WINDOW_KEPT && !window.fresh) {
      window.ids.length = WINDOW_SIZE;
      window.complete = false;
    }
  }

  private comesBefore(task: Task, otherId: string | undefined): boolean {
    const other = otherId === undefined ? null : this.taskOf(otherId);
    if (other === null) return false;
    const rank = placementOf(task, this.now()).rank - placementOf(other, this.now()).rank;
    if (rank !== 0) return rank < 0;
    if (task.readyAt !== other.readyAt) return task.readyAt < other.readyAt;
    return task.id < other.id;
  }
}

/** Whether a queue's filter lets a task through. */
function matches(task: Task, filter: QueueFilter): boolean {
  return (
    (filter.runId === null || filter.runId === task.runId) &&
    filter.labels.every((label) => task.labels.includes(label))
  );
}
