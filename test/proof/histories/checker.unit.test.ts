import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linearize, type Model, type Timed } from './checker.js';

/** A register that holds one number: written, read, and counted up, which answers the number before. */
type Does = { readonly write: number } | { readonly read: number } | { readonly count: number };
type On = Does & Timed;

function after(state: number, operation: On): readonly number[] {
  const free = operation.answeredAt === null;
  if ('write' in operation) return [operation.write];
  if ('read' in operation) return free || operation.read === state ? [state] : [];
  return free || operation.count === state ? [state + 1] : [];
}

const REGISTER: Model<number, On> = {
  start: 0,
  step: after,
  observes: (operation) => 'read' in operation && operation.answeredAt !== null,
  drift: () => [],
  key: String,
};

const at = (invokedAt: number, answeredAt: number | null, does: Does): On => ({
  invokedAt,
  answeredAt,
  ...does,
});
const kindOf = (...history: readonly On[]) => linearize(REGISTER, history).kind;

describe('a history is linearizable', () => {
  it('when it is empty, or one operation after another', () => {
    expect(kindOf()).toBe('linearizable');
    expect(
      kindOf(at(0, 1, { write: 5 }), at(2, 3, { read: 5 }), at(4, 5, { count: 5 }), at(6, 7, { read: 6 })),
    ).toBe('linearizable');
  });

  it('when a read beside a write sees what was before it, or what it wrote', () => {
    expect(kindOf(at(0, 10, { write: 5 }), at(2, 3, { read: 0 }), at(4, 5, { read: 5 }))).toBe(
      'linearizable',
    );
  });

  it('when one of two that were sent together can have been first', () => {
    expect(kindOf(at(0, 9, { count: 1 }), at(0, 9, { count: 0 }), at(10, 11, { read: 2 }))).toBe(
      'linearizable',
    );
  });

  it('in the order that it is told with', () => {
    const [late, early] = [at(0, 9, { count: 1 }), at(0, 9, { count: 0 })];
    expect(linearize(REGISTER, [late, early])).toMatchObject({ order: [early, late] });
  });
});

describe('a history is not linearizable', () => {
  it('when a read sees what was over before it was sent', () => {
    const stale = at(2, 3, { read: 0 });
    expect(linearize(REGISTER, [at(0, 1, { write: 5 }), stale])).toMatchObject({
      kind: 'contradiction',
      state: 5,
      stuck: [stale],
    });
  });

  it('when two are told that they were first', () => {
    expect(kindOf(at(0, 9, { count: 0 }), at(0, 9, { count: 0 }))).toBe('contradiction');
  });

  it('when two readers see two writes in opposite orders', () => {
    const writes = [at(0, 20, { write: 1 }), at(0, 20, { write: 2 })];
    const one = [at(1, 2, { read: 1 }), at(5, 6, { read: 2 })];
    expect(kindOf(...writes, ...one)).toBe('linearizable');
    expect(kindOf(...writes, ...one, at(3, 4, { read: 2 }), at(7, 8, { read: 1 }))).toBe('contradiction');
  });

  it('when an increment is lost', () => {
    expect(kindOf(at(0, 5, { count: 0 }), at(0, 5, { count: 1 }), at(6, 7, { read: 1 }))).toBe(
      'contradiction',
    );
  });
});

describe('an operation that had no answer', () => {
  const lost = at(2, null, { write: 5 });

  it('may have taken effect, or not', () => {
    expect(kindOf(lost, at(4, 5, { read: 5 }))).toBe('linearizable');
    expect(kindOf(lost, at(4, 5, { read: 0 }))).toBe('linearizable');
  });

  it('may take effect long after its client has gone', () => {
    expect(kindOf(lost, at(4, 5, { read: 0 }), at(100, 101, { read: 5 }))).toBe('linearizable');
  });

  it('takes effect once', () => {
    expect(kindOf(lost, at(4, 5, { read: 5 }), at(6, 7, { write: 7 }), at(8, 9, { read: 5 }))).toBe(
      'contradiction',
    );
    expect(kindOf(at(0, null, { count: 0 }), at(1, 2, { read: 1 }), at(3, 4, { read: 2 }))).toBe(
      'contradiction',
    );
  });

  it('takes effect not before it was sent', () => {
    expect(kindOf(at(0, 1, { read: 5 }), lost)).toBe('contradiction');
  });
});

describe('what the object does by itself', () => {
  /** Falls back to 0, not before the time 50. */
  const falling: Model<number, On> = {
    ...REGISTER,
    drift: (state, until) => (state !== 0 && until >= 50 ? [0] : []),
  };

  it('is not asked for, but has its time', () => {
    const write = at(0, 1, { write: 5 });
    expect(linearize(falling, [write, at(48, 60, { read: 0 })]).kind).toBe('linearizable');
    expect(linearize(falling, [write, at(70, 80, { read: 5 })]).kind).toBe('linearizable');
    expect(linearize(falling, [write, at(30, 40, { read: 0 })]).kind).toBe('contradiction');
  });
});

/** Every order of some operations, the slow and certain way. */
function existsOrder(state: number, left: readonly On[]): boolean {
  return (
    left.every(({ answeredAt }) => answeredAt === null) ||
    left.some((next) => {
      const others = left.filter((one) => one !== next);
      const isNext = others.every(({ answeredAt }) => answeredAt === null || answeredAt >= next.invokedAt);
      return isNext && after(state, next).some((then) => existsOrder(then, others));
    })
  );
}

const small = fc.integer({ min: 0, max: 2 });
const operation = fc
  .tuple(
    fc.integer({ min: 0, max: 9 }),
    fc.option(fc.integer({ min: 0, max: 9 }), { freq: 5 }),
    fc.oneof(fc.record({ write: small }), fc.record({ read: small }), fc.record({ count: small })),
  )
  .map(([begin, lasts, does]) => at(begin, lasts === null ? null : begin + lasts, does));

it('the search finds an order exactly when there is one', () => {
  let linearizable = 0;
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 6 }), (history) => {
      const exists = existsOrder(0, history);
      linearizable += exists ? 1 : 0;
      expect(kindOf(...history)).toBe(exists ? 'linearizable' : 'contradiction');
    }),
    { numRuns: 3_000, seed: 1 },
  );
  expect(linearizable).toBeGreaterThan(200);
  expect(linearizable).toBeLessThan(2_800);
});

it('a search that finds no end says so', () => {
  // Nothing fits at last, and every order of what had no answer leads to another state.
  const lost = Array.from({ length: 20 }, (_, n) => at(0, null, { write: n + 1 }));
  const endless: Model<string, On> = {
    start: '',
    step: (state, { answeredAt }) => (answeredAt === null ? [`${state}x${state.length}`, `${state}y`] : []),
    observes: () => false,
    drift: () => [],
    key: (state) => state,
  };
  expect(linearize(endless, [...lost, at(1, 2, { read: 9 })], 1_000).kind).toBe('undecided');
});
