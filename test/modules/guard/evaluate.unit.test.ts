import { describe, expect, it } from 'vitest';
import {
  actionFor,
  crossings,
  evaluate,
  graver,
  openRunLayers,
  openTaskLayers,
  overPercent,
  readLayer,
  severityOf,
} from '../../../src/modules/guard/evaluate.js';
import { LAYERS, type Layer, RUN_LAYERS, TASK_LAYERS } from '../../../src/modules/guard/types.js';
import { SERVER, START, someRun, someTask } from '../../support/builders.js';

const read = (kind: Layer, value: number, limit: number) => {
  const { state, warned } = readLayer(kind, value, limit);
  return `${state}${warned ? ', warned' : ''}`;
};

describe('each layer on both sides of its edges', () => {
  it.each<[Layer, number, { quiet: number; warned: number; last: number; open: number }]>([
    ['iteration', 100, { quiet: 80, warned: 81, last: 99, open: 100 }],
    ['token', 10_000, { quiet: 8_000, warned: 8_001, last: 10_000, open: 10_001 }],
    ['error', 3, { quiet: 1, warned: 2, last: 2, open: 3 }],
    ['rework', 5, { quiet: 3, warned: 4, last: 4, open: 5 }],
    ['review', 3, { quiet: 1, warned: 2, last: 2, open: 3 }],
    ['attempt', 20, { quiet: 16, warned: 17, last: 20, open: 21 }],
    ['deadline', 100, { quiet: 80, warned: 81, last: 100, open: 101 }],
    ['run_tokens', 100, { quiet: 80, warned: 81, last: 100, open: 101 }],
    ['run_cost', 100, { quiet: 80, warned: 81, last: 100, open: 101 }],
    ['cost', 100, { quiet: 80, warned: 81, last: 100, open: 101 }],
  ])('%s of %i', (kind, limit, { quiet, warned, last, open }) => {
    expect(read(kind, quiet, limit)).toBe('closed');
    expect(read(kind, warned, limit)).toBe('closed, warned');
    expect(read(kind, last, limit)).toBe('closed, warned');
    expect(read(kind, open, limit)).toBe('open, warned');
    expect(read(kind, limit * 10, limit)).toBe('open, warned');
  });

  it.each<Layer>(['error', 'rework', 'review'])(
    '%s with room for one trips at the first, and is quiet at none',
    (kind) => {
      expect(read(kind, 0, 1)).toBe('closed');
      expect(read(kind, 1, 1)).toBe('open, warned');
    },
  );

  it('a limit that is no multiple of five warns at the first whole value above its 80 percent', () => {
    expect(read('token', 5, 7)).toBe('closed');
    expect(read('token', 6, 7)).toBe('closed, warned');
  });
});

describe('severity', () => {
  it.each<[Layer, number, number, number]>([
    ['iteration', 100, 120, 121],
    ['token', 10_000, 15_000, 15_001],
    ['cost', 1_000, 1_500, 1_501],
    ['run_tokens', 1_000, 1_500, 1_501],
    ['run_cost', 1_000, 1_500, 1_501],
  ])('%s of %i is MEDIUM to %i and HIGH from %i', (kind, limit, medium, high) => {
    expect(severityOf(kind, limit + 1, limit, false)).toBe('MEDIUM');
    expect(severityOf(kind, medium, limit, false)).toBe('MEDIUM');
    expect(severityOf(kind, high, limit, false)).toBe('HIGH');
  });

  it.each<Layer>(['error', 'rework', 'review', 'attempt', 'deadline'])(
    '%s is MEDIUM at any value',
    (kind) => {
      expect(severityOf(kind, 1_000_000, 1, false)).toBe('MEDIUM');
    },
  );

  it.each([...LAYERS])('%s is HIGH once the recoveries are used up', (kind) => {
    expect(severityOf(kind, 1, 1, true)).toBe('HIGH');
  });

  it('MEDIUM is a planner’s to recover, HIGH an operator’s', () => {
    expect(actionFor('MEDIUM')).toBe('AUTOMATIC_RECOVERY');
    expect(actionFor('HIGH')).toBe('BLOCKER_ESCALATION');
  });

  it('rises and never falls', () => {
    expect(graver('MEDIUM', 'HIGH')).toBe('HIGH');
    expect(graver('HIGH', 'MEDIUM')).toBe('HIGH');
    expect(graver('MEDIUM', 'LOW')).toBe('MEDIUM');
    expect(graver('LOW', 'LOW')).toBe('LOW');
  });
});

describe('by how much a value is over', () => {
  it.each([
    [105, 100, 5],
    [100, 100, 0],
    [10_001, 10_000, 0],
    [11_000, 10_000, 10],
    [1_004, 1_000, 0.4],
    [5, 5, 0],
    [3, 0, 100],
    [-5, -10, 100],
    [0, 0, 0],
  ])('%i of %i is %f%%', (value, limit, percent) => {
    expect(overPercent(value, limit)).toBe(percent);
  });
});

function verdictOf(
  counters: Parameters<typeof someTask>[0],
  run: Parameters<typeof someRun>[0] = {},
  now = START,
) {
  return evaluate({
    task: { counters: someTask(counters).counters, limits: SERVER },
    run: { counters: someRun(run), limits: SERVER, startedAt: START },
    now,
  });
}

describe('the whole verdict', () => {
  it('with everything normal has every layer closed', () => {
    const verdict = verdictOf({ counters: { tokensUsed: 6_000 } }, { iterations: 50 });
    expect(verdict.verdict).toBe('allow');
    expect(verdict.layers.map(({ kind, state }) => `${kind} ${state}`)).toEqual([
      'iteration closed',
      'token closed',
      'error closed',
      'rework closed',
      'review closed',
      'attempt closed',
    ]);
  });

  it('warns, and denies, by the worst layer', () => {
    expect(verdictOf({ counters: { errorCount: 2 } }).verdict).toBe('warn');
    expect(verdictOf({ counters: { errorCount: 2, tokensUsed: 10_001 } }).verdict).toBe('deny');
  });

  it('names open layers by priority, the run’s apart from the task’s', () => {
    const verdict = verdictOf(
      { counters: { errorCount: 3, reworkCount: 5, tokensUsed: 10_001 } },
      { iterations: 100, deadlineAt: START + 1_000 },
      START + 2_000,
    );
    expect(openTaskLayers(verdict).map(({ kind }) => kind)).toEqual(['token', 'error', 'rework']);
    expect(openRunLayers(verdict).map(({ kind }) => kind)).toEqual(['deadline', 'iteration']);
  });

  it('has an optional layer only where a limit is set', () => {
    const layers = evaluate({
      task: { counters: someTask().counters, limits: { ...SERVER, maxCostMicros: 5 } },
      run: {
        counters: someRun({ deadlineAt: START + 60_000 }),
        limits: { ...SERVER, maxRunTokens: 1, maxRunCostMicros: 1 },
        startedAt: START,
      },
      now: START,
    }).layers.map(({ kind }) => kind);
    expect(layers).toEqual([...LAYERS]);
  });

  it('of a run alone, or a task alone, has only their layers', () => {
    const run = evaluate({
      task: null,
      run: { counters: someRun(), limits: SERVER, startedAt: START },
      now: START,
    });
    expect(run.layers.map(({ kind }) => kind)).toEqual(['iteration']);
    const task = evaluate({ task: { counters: someTask().counters, limits: SERVER }, run: null, now: START });
    expect(task.layers.map(({ kind }) => kind)).toEqual(['token', 'error', 'rework', 'review', 'attempt']);
  });

  it('a deadline is counted in whole seconds since the run began', () => {
    const at = (ms: number) => verdictOf({}, { deadlineAt: START + 10_000 }, START + ms).layers[0];
    expect(at(8_000)).toEqual({ kind: 'deadline', value: 8, limit: 10, state: 'closed', warned: false });
    expect(at(8_001)).toMatchObject({ value: 9, warned: true, state: 'closed' });
    expect(at(10_000)).toMatchObject({ value: 10, state: 'closed' });
    expect(at(10_001)).toMatchObject({ value: 11, state: 'open' });
  });

  it('every layer watches either a task or a run', () => {
    expect([...TASK_LAYERS, ...RUN_LAYERS].sort()).toEqual([...LAYERS].sort());
  });
});

describe('warnings are crossings, not levels', () => {
  const at = (tokensUsed: number, errorCount = 0) => verdictOf({ counters: { tokensUsed, errorCount } });

  it('one when the line is passed, none while the value stays above it', () => {
    const first = crossings(at(8_001), []);
    expect(first.crossed.map(({ kind }) => kind)).toEqual(['token']);
    const second = crossings(at(9_000), first.warned);
    expect(second.crossed).toEqual([]);
    expect(second.warned).toEqual(['token']);
  });

  it('armed again when the value is back below the line', () => {
    const below = crossings(at(0), ['token']);
    expect(below.warned).toEqual([]);
    expect(crossings(at(8_001), below.warned).crossed).toHaveLength(1);
  });

  it('each layer on its own', () => {
    expect(crossings(at(8_001, 2), ['token']).crossed.map(({ kind }) => kind)).toEqual(['error']);
  });
});
