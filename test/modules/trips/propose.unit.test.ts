import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Proposal } from '../../../src/modules/trips/decide/propose.js';
import type { ReplayEvent } from '../../../src/modules/trips/decide/replay.js';
import { roundedUp } from '../../../src/modules/trips/decide/round.js';

function event(type: string, taskId: string | null, counters: ReplayEvent['counters'], at = 1): ReplayEvent {
  return { type, at, taskId, runId: 'run', agentId: null, command: 'x', to: null, counters, data: {} };
}

/** A proposal from tasks that each ended after having used so many tokens. */
function proposalFrom(tokens: readonly number[], end = 'task.approved'): Proposal {
  const proposal = new Proposal(0);
  tokens.forEach((used, i) => {
    proposal.take(event('task.created', `task ${i}`, {}));
    proposal.take(event('task.submitted', `task ${i}`, { tokens_used: used, rework_count: i % 3 }));
    proposal.take(event(end, `task ${i}`, { tokens_used: used }));
  });
  return proposal;
}

const limitOf = (proposal: Proposal, name: string) =>
  proposal.result.limits.find((limit) => limit.name === name);

describe('a proposed limit', () => {
  it('is the 95th percentile and a quarter, rounded up to two digits', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => (i + 1) * 101);
    expect(limitOf(proposalFrom(hundred), 'maxTokens')).toEqual({
      name: 'maxTokens',
      p95: 9_595,
      limit: 12_000,
      sample: 100,
    });
    expect(limitOf(proposalFrom([7]), 'maxTokens')).toMatchObject({ p95: 7, limit: 9 });
  });

  it('looks at the most that was reached, also before a counter started again', () => {
    expect(limitOf(proposalFrom([1, 1, 1]), 'maxReworks')).toMatchObject({ p95: 2, limit: 3 });
  });

  it('does not learn from what was given up, nor from what is still going on', () => {
    expect(limitOf(proposalFrom([100], 'task.cancelled'), 'maxTokens')).toMatchObject({
      limit: null,
      sample: 0,
    });
    expect(limitOf(proposalFrom([100], 'task.claimed'), 'maxTokens')).toMatchObject({
      limit: null,
      sample: 0,
    });
  });

  it('is none where nobody ever reported any', () => {
    expect(limitOf(proposalFrom([0, 0]), 'maxTokens')).toMatchObject({ limit: null, p95: 0, sample: 2 });
    expect(limitOf(proposalFrom([0, 0]), 'maxErrors')).toMatchObject({ limit: 2, p95: 0 });
  });

  it('of a run is learnt from those that are closed', () => {
    const proposal = new Proposal(0);
    proposal.take(event('run.tripped', null, { iterations: 100, tokens_used: 5_000, cost_usd: 0.5 }));
    proposal.take(event('run.closed', null, { iterations: 3, tokens_used: 6_000, cost_usd: 0.5 }));
    expect(limitOf(proposal, 'maxIterations')).toMatchObject({ p95: 100, limit: 130, sample: 1 });
    expect(limitOf(proposal, 'maxRunTokens')).toMatchObject({ p95: 6_000, limit: 7_500 });
    expect(limitOf(proposal, 'maxRunCostMicros')).toMatchObject({ p95: 500_000, limit: 630_000 });
  });
});

describe('rounding up', () => {
  it('leaves two digits, is never below, and never a tenth above', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (value) => {
        const rounded = roundedUp(value);
        expect(rounded).toBeGreaterThanOrEqual(value * (1 - 1e-9));
        expect(rounded).toBeLessThanOrEqual(value * 1.1 * (1 + 1e-9));
        expect(Number(rounded.toPrecision(2))).toBeCloseTo(rounded, 12);
      }),
    );
    expect([roundedUp(0.123), roundedUp(0.7), roundedUp(12_500), roundedUp(99.1)]).toEqual([
      0.13, 0.7, 13_000, 100,
    ]);
  });
});
