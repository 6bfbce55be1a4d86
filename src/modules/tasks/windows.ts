import type { QueueFilter } from './decide/context.js';
import { isKeptFrom, placementOf } from './decide/machine.js';
import type { Task } from './types.js';

/** A place in claim order: before all that comes after it, whether or not a task stands there. */
export interface Place {
  readonly rank: number;
  readonly readyAt: number;
  readonly id: string;
}

/** The head of one queue as known here: ids in claim order, and whether the queue goes on behind them. */
export interface Window {
  readonly filter: QueueFilter;
  /** Only what this agent may have is in it; null for everybody's. */
  readonly agentId: string | null;
  ids: string[];
  /** Up to where `ids` is all there is; null before the first load. */
  end: Place | null;
  /** Nothing is in this queue beyond `ids`. */
  complete: boolean;
  /** How many to load next time. */
  size: number;
  /** It was loaded for this batch. */
  fresh: boolean;
  /** A claim came to the end of an incomplete window without what it wanted. */
  starved: boolean;
}

const WINDOW_SIZE = 128;
const WINDOW_SIZE_MAX = 8_192;
const WINDOW_GROWTH = 8;
/** A window longer than this is cut back to its usual size, once the batch that looked so far is over. */
const WINDOW_KEPT = 1_024;

/**
 * The heads of a project's queues, each in claim order, kept as tasks enter and leave them. Everybody looks into the same one,
 * but an agent that had to pass over all it holds gets one of its own: so what stands at the head and is not for this agent is
 * passed over once, in the database, however much it is.
 */
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

  /** The window into a queue for who asks: its own where it has one, or everybody's; empty when it was never asked for. */
  of(filter: QueueFilter): Window {
    return this.windows.get(keyOf(filter, filter.agentId)) ?? this.opened(filter, null);
  }

  private opened(filter: QueueFilter, agentId: string | null): Window {
    const key = keyOf(filter, agentId);
    const known = this.windows.get(key);
    if (known !== undefined) return known;
    const window: Window = {
      filter,
      agentId,
      ids: [],
      end: null,
      complete: false,
      size: WINDOW_SIZE,
      fresh: false,
      starved: true,
    };
    this.windows.set(key, window);
    return window;
  }

  /** What was read of a queue behind the end of its window. */
  fill(window: Window, tasks: readonly Task[]): void {
    const known = new Set(window.ids);
    for (const { id } of tasks) if (!known.has(id)) window.ids.push(id);
    const last = tasks.at(-1);
    if (last !== undefined) window.end = this.placeOf(last);
    window.complete = tasks.length < window.size;
    window.size = WINDOW_SIZE;
    window.fresh = true;
    window.starved = false;
  }

  /**
   * Whether a claim that came to the end of its window should look behind it. The first look goes on from the end, because it
   * was only used up. Where that brought nothing either, the agent gets a window of its own; and where it passes over even
   * what is there, for reasons that pass with time, a larger one.
   */
  wantsMore(filter: QueueFilter, looks: number): boolean {
    const window = this.of(filter);
    if (!window.starved) return false;
    const sizeAt = (look: number) => Math.min(WINDOW_SIZE * WINDOW_GROWTH ** look, WINDOW_SIZE_MAX);
    if (looks > 0 && sizeAt(looks - 1) === WINDOW_SIZE_MAX) return false;
    const next = looks > 0 ? this.opened(filter, filter.agentId) : window;
    next.size = sizeAt(looks);
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
    if (at !== -1) window.ids.splice(at, 1);
    if (!this.belongs(window, task)) return;
    const place = this.placeOf(task);
    // Behind the end there may be others that come first: only a complete window can say.
    if (!window.complete && (window.end === null || isBefore(window.end, place))) return;
    let index = window.ids.length;
    while (index > 0 && this.isBeforeTask(place, window.ids[index - 1])) index--;
    window.ids.splice(index, 0, task.id);
    if (window.ids.length > WINDOW_KEPT && !window.fresh) this.cut(window);
  }

  private belongs(window: Window, task: Task): boolean {
    const { purpose } = window.filter;
    return (
      placementOf(task, this.now()).queue === purpose &&
      matches(task, window.filter) &&
      (window.agentId === null || !isKeptFrom(task, window.agentId, purpose))
    );
  }

  private cut(window: Window): void {
    window.ids.length = WINDOW_SIZE;
    const last = this.taskOf(window.ids[WINDOW_SIZE - 1] ?? '');
    if (last === null) return;
    window.end = this.placeOf(last);
    window.complete = false;
  }

  private placeOf(task: Task): Place {
    return { rank: placementOf(task, this.now()).rank, readyAt: task.readyAt, id: task.id };
  }

  private isBeforeTask(place: Place, otherId: string | undefined): boolean {
    const other = otherId === undefined ? null : this.taskOf(otherId);
    return other !== null && isBefore(place, this.placeOf(other));
  }
}

function isBefore(a: Place, b: Place): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  return a.readyAt === b.readyAt ? a.id < b.id : a.readyAt < b.readyAt;
}

function keyOf({ purpose, runId, labels }: QueueFilter, agentId: string | null): string {
  return [purpose, runId ?? '', agentId ?? '', ...labels].join('\u0000');
}

/** Whether a queue's filter lets a task through. */
function matches(task: Task, filter: QueueFilter): boolean {
  return (
    (filter.runId === null || filter.runId === task.runId) &&
    filter.labels.every((label) => task.labels.includes(label))
  );
}
