import { describe, expect, it } from 'vitest';
import { recommend, type StrategyRecord, tally } from '../../../src/modules/trips/decide/recommend.js';
import { type ClosedTrip, DIAGNOSES } from '../../../src/modules/trips/types.js';

let count = 0;
function closed(facts: Partial<ClosedTrip> = {}): ClosedTrip {
  count += 1;
  return {
    id: `trip ${count}`,
    scope: 'task',
    kind: 'rework',
    taskId: `task ${count}`,
    runId: 'run',
    layers: [],
    openedAt: 1_000,
    closedAt: 2_000,
    strategy: 'adjust',
    by: 'planner',
    state: 'done',
    openKind: null,
    ...facts,
  };
}

const tallied = (...trips: readonly ClosedTrip[]) =>
  tally(trips.map((trip) => ({ trip, diagnosis: 'one_pair' as const })));

describe('a resolution', () => {
  it('succeeded when its task was done, or its run closed, without another such trip', () => {
    expect(tallied(closed(), closed({ scope: 'run', taskId: null, state: 'closed' }))).toEqual([
      {
        kind: 'rework',
        diagnosis: 'one_pair',
        strategy: 'adjust',
        resolutions: 2,
        succeeded: 2,
        failed: 0,
        rate: 1,
      },
    ]);
  });

  it('failed when the same limit tripped again, even if the task was done in the end', () => {
    const again = closed({ taskId: 'task', openedAt: 3_000, closedAt: 4_000 });
    expect(tallied(closed({ taskId: 'task' }), again)).toMatchObject([
      { succeeded: 1, failed: 1, rate: 0.5 },
    ]);
    expect(tallied(closed({ state: 'blocked', openKind: 'rework' }))).toMatchObject([{ failed: 1 }]);
  });

  it('did not fail because another limit tripped, and before the end it is not counted', () => {
    expect(tallied(closed({ state: 'blocked', openKind: 'error' }))).toMatchObject([
      { resolutions: 1, succeeded: 0, failed: 0, rate: null },
    ]);
  });

  it('failed when the task was given up', () => {
    expect(tallied(closed({ state: 'cancelled' }))).toMatchObject([{ failed: 1, rate: 0 }]);
  });

  it('that ends the work has no rate, and one that the server made by itself is nobody’s choice', () => {
    expect(
      tallied(closed({ strategy: 'terminate', state: 'cancelled' }), closed({ by: 'server' })),
    ).toMatchObject([{ strategy: 'terminate', resolutions: 1, failed: 0, rate: null }]);
  });
});

function record(strategy: string, succeeded: number, failed: number): StrategyRecord {
  const resolutions = succeeded + failed;
  return {
    kind: 'rework',
    diagnosis: 'one_pair',
    strategy,
    resolutions,
    succeeded,
    failed,
    rate: succeeded / resolutions,
  };
}

describe('the recommendation', () => {
  it('is what did best of at least five', () => {
    const records = [record('adjust', 3, 2), record('split', 4, 1), record('reset', 4, 0)];
    expect(recommend('rework', 'one_pair', false, records)).toEqual({
      strategy: 'split',
      basis: 'history',
      successRate: 0.8,
      sample: 5,
      why: 'split ended well in 4 of 5 trips of this kind with this diagnosis',
    });
  });

  it('does not follow another kind or diagnosis, nor what never helped', () => {
    const records = [record('reset', 5, 0)];
    expect(recommend('error', 'one_pair', false, records).basis).toBe('default');
    expect(recommend('rework', 'none', false, records).basis).toBe('default');
    expect(recommend('rework', 'one_pair', false, [record('split', 0, 9)]).basis).toBe('default');
  });

  it('is no reset once something must change', () => {
    const records = [record('reset', 5, 0), record('split', 3, 2)];
    expect(recommend('rework', 'one_pair', true, records).strategy).toBe('split');
    expect(recommend('rework', 'dead_reviewer', true, []).strategy).toBe('adjust');
  });

  it('has a default for every diagnosis', () => {
    const defaults = DIAGNOSES.map((code) => [code, recommend('rework', code, false, []).strategy]);
    expect(Object.fromEntries(defaults)).toEqual({
      identical_results: 'adjust',
      same_criterion: 'adjust',
      moving_goalposts: 'adjust',
      one_fingerprint: 'adjust',
      dependency: 'reset',
      tokens_rising: 'split',
      dead_reviewer: 'reset',
      one_pair: 'adjust',
      none: 'reset',
    });
    expect(recommend('token', 'none', false, []).strategy).toBe('adjust');
  });
});
