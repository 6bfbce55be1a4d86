/**
 * Whether a concurrent history of one object could have come from using it one operation at a time: the search of Wing and Gong,
 * with the memory of Lowe and Porcupine. Knows nothing of boards.
 */

/** When an operation was sent and when its answer came, on one steady clock; null when no answer came and none ever will. */
export interface Timed {
  readonly invokedAt: number;
  readonly answeredAt: number | null;
}

/** The object used one operation at a time. */
export interface Model<State, Operation extends Timed> {
  readonly start: State;
  /**
   * The states that may follow when the operation takes effect now, which is no later than `until`, with the answer it had; none
   * when no answer of the object fits. What an operation without an answer would have been told does not matter.
   */
  step(state: State, operation: Operation, until: number): readonly State[];
  /** The states that the object may reach by itself, before any further operation. */
  drift(state: State, until: number): readonly State[];
  /** Whether, with the answer it had, it changes nothing wherever it fits, but for what the object may do by itself as well. */
  observes(operation: Operation): boolean;
  /** Equal for equal states. */
  key(state: State): string;
}

/** An order that explains the history, or the longest beginning of one and what could not follow it. */
export type Verdict<State, Operation> =
  | { readonly kind: 'linearizable'; readonly order: readonly Operation[]; readonly steps: number }
  | {
      readonly kind: 'contradiction';
      readonly order: readonly Operation[];
      readonly state: State;
      /** The operations that could have come next by their times, and do not fit. */
      readonly stuck: readonly Operation[];
      readonly steps: number;
    }
  | { readonly kind: 'undecided'; readonly steps: number };

/** No honest history of a hundred operations comes near; a search that does has lost its way. */
const STEPS_MAX = 1_000_000;

/** Looks for an order of the operations that keeps their times and that the model could have answered as they were answered. */
export function linearize<State, Operation extends Timed>(
  model: Model<State, Operation>,
  history: readonly Operation[],
  stepsMax = STEPS_MAX,
): Verdict<State, Operation> {
  return new Search(model, history, stepsMax).run();
}

class Search<State, Operation extends Timed> {
  private readonly operations: readonly Operation[];
  private readonly done: boolean[];
  private readonly order: Operation[] = [];
  private readonly seen = new Set<string>();
  private deepest: { order: readonly Operation[]; state: State; stuck: readonly Operation[] };
  private depth = -1;
  private steps = 0;

  constructor(
    private readonly model: Model<State, Operation>,
    history: readonly Operation[],
    private readonly stepsMax: number,
  ) {
    // Whoever was answered first most likely took effect first; those without an answer are tried last.
    this.operations = history.toSorted((a, b) => end(a) - end(b));
    this.done = this.operations.map(() => false);
    this.deepest = { order: [], state: model.start, stuck: [] };
  }

  run(): Verdict<State, Operation> {
    const found = this.from(this.model.start);
    const { steps } = this;
    if (found) return { kind: 'linearizable', order: [...this.order], steps };
    return steps > this.stepsMax
      ? { kind: 'undecided', steps }
      : { kind: 'contradiction', ...this.deepest, steps };
  }

  private from(state: State): boolean {
    // In the order of their answers, the first that is left is answered first.
    const first = this.operations.find((_, index) => this.done[index] === false);
    if (first === undefined || first.answeredAt === null) return true;
    const until = first.answeredAt;
    const key = this.model.key(state);
    const here = `${this.marks()}|${key}`;
    if (this.seen.has(here)) return false;
    this.seen.add(here);
    if (++this.steps > this.stepsMax) return false;
    const next = this.operations.flatMap((operation, index) =>
      this.done[index] === false && operation.invokedAt <= until ? [{ operation, index }] : [],
    );
    this.note(
      state,
      next.map(({ operation }) => operation),
    );
    return this.take(state, key, next, until);
  }

  private take(
    state: State,
    key: string,
    next: readonly { readonly operation: Operation; readonly index: number }[],
    until: number,
  ): boolean {
    const { model } = this;
    const moves: { readonly operation: Operation; readonly index: number; readonly after: State }[] = [];
    for (const { operation, index } of next) {
      const follow = model.step(state, operation, Math.min(until, end(operation)));
      // What only observes, and fits here, may be taken at once: wherever else it fits, the rest is the same.
      const same = model.observes(operation)
        ? follow.find((after) => after === state || model.key(after) === key)
        : undefined;
      if (same !== undefined) return this.go(operation, index, same);
      for (const after of follow) moves.push({ operation, index, after });
    }
    return (
      moves.some(({ operation, index, after }) => this.go(operation, index, after)) ||
      model.drift(state, until).some((after) => this.from(after))
    );
  }

  private go(operation: Operation, index: number, after: State): boolean {
    this.done[index] = true;
    this.order.push(operation);
    if (this.from(after)) return true;
    this.order.pop();
    this.done[index] = false;
    return false;
  }

  /** Remembers how far it got: the more answers are explained the better, by the fewer operations that had none. */
  private note(state: State, stuck: readonly Operation[]): void {
    const answered = this.order.filter(({ answeredAt }) => answeredAt !== null).length;
    const depth = answered - (this.order.length - answered) / (this.operations.length + 1);
    if (depth <= this.depth) return;
    this.depth = depth;
    this.deepest = { order: [...this.order], state, stuck };
  }

  private marks(): string {
    return this.done.map((done) => (done ? '1' : '0')).join('');
  }
}

function end({ answeredAt }: Timed): number {
  return answeredAt ?? Number.POSITIVE_INFINITY;
}
