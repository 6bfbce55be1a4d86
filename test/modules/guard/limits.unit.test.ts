import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../../src/modules/guard/fingerprint.js';
import {
  effectiveLimits,
  effectiveRunLimits,
  LIMIT_CEILINGS,
  limitNames,
  originOf,
  ownLimitsOf,
} from '../../../src/modules/guard/limits.js';
import { taskLimits } from '../../../src/modules/guard/schema.js';
import { limitWireName, ownLimitsToWire, toMicros, toUsd } from '../../../src/modules/guard/wire.js';
import { SERVER } from '../../support/builders.js';

describe('the limit in force', () => {
  it('is the task’s, else the run’s, else the project’s, else the server’s', () => {
    const [task, run, project] = [{ maxReworks: 1 }, { maxReworks: 2 }, { maxReworks: 3 }];
    expect(effectiveLimits(task, run, project, SERVER).maxReworks).toBe(1);
    expect(effectiveLimits({}, run, project, SERVER).maxReworks).toBe(2);
    expect(effectiveLimits({}, {}, project, SERVER).maxReworks).toBe(3);
    expect(effectiveLimits({}, {}, {}, SERVER).maxReworks).toBe(5);
    expect(originOf('maxReworks', task, run, project)).toBe('task');
    expect(originOf('maxReworks', {}, run, project)).toBe('run');
    expect(originOf('maxReworks', {}, {}, project)).toBe('project');
    expect(originOf('maxReworks', {}, {}, {})).toBe('server');
  });

  it('each by itself: one that is set leaves the others alone', () => {
    const limits = effectiveLimits({ maxReworks: 1 }, { maxErrors: 2 }, { maxTokens: 3 }, SERVER);
    expect(limits).toMatchObject({ maxReworks: 1, maxErrors: 2, maxTokens: 3, maxAttempts: 20 });
  });

  it('an optional one lifted nearer by is lifted', () => {
    const server = { ...SERVER, maxCostMicros: 5, maxRunTokens: 5 };
    expect(effectiveLimits({ maxCostMicros: null }, {}, {}, server).maxCostMicros).toBeNull();
    expect(originOf('maxCostMicros', { maxCostMicros: null }, {}, {})).toBe('task');
    expect(effectiveRunLimits({ maxRunTokens: null }, {}, server).maxRunTokens).toBeNull();
  });

  it('of a run comes from the run, its project or the server', () => {
    expect(effectiveRunLimits({ maxIterations: 7 }, { maxIterations: 8 }, SERVER).maxIterations).toBe(7);
    expect(effectiveRunLimits({}, { maxIterations: 8 }, SERVER).maxIterations).toBe(8);
    expect(effectiveRunLimits({}, {}, SERVER).maxIterations).toBe(100);
  });

  it('what a project stores that is no limit counts for nothing', () => {
    expect(ownLimitsOf({ maxReworks: 7, maxTea: 3, maxErrors: 'many' })).toEqual({ maxReworks: 7 });
  });

  it('every limit has a ceiling and a name on the wire', () => {
    expect(limitNames().sort()).toEqual(Object.keys(SERVER).sort());
    expect(Object.keys(LIMIT_CEILINGS).sort()).toEqual(Object.keys(SERVER).sort());
    for (const name of limitNames()) expect(limitWireName(name)).toMatch(/^[a-z_]+$/);
    expect(ownLimitsToWire({ maxCostMicros: 1_500_000, maxReworks: 2 })).toEqual({
      max_cost_usd: 1.5,
      max_reworks: 2,
    });
    expect(ownLimitsToWire({ maxCostMicros: null })).toEqual({ max_cost_usd: null });
  });

  it('of a cost is at least what can be kept: less would be a limit of nothing', () => {
    expect(taskLimits.safeParse({ max_cost_usd: 0.000001 }).success).toBe(true);
    expect(taskLimits.safeParse({ max_cost_usd: 0.0000004 }).success).toBe(false);
  });

  it('dollars go to whole millionths and back', () => {
    for (const usd of [0, 0.000001, 0.1, 0.2 + 0.1, 19.99, 1_000_000]) {
      expect(Number.isInteger(toMicros(usd))).toBe(true);
      expect(toUsd(toMicros(usd))).toBeCloseTo(usd, 6);
    }
  });
});

describe('a fingerprint', () => {
  const same = (...messages: string[]) =>
    new Set(messages.map((message) => fingerprintOf('error', message))).size;

  it.each([
    ['numbers', 'timeout after 300 ms', 'timeout after 4512 ms'],
    ['ids', 'no user 01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b', 'no user 11939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0c'],
    ['hashes', 'commit deadbeef01 is not there', 'commit 0123abcd99 is not there'],
    ['paths', 'cannot read /home/a/posts.json', 'cannot read /var/tmp/b/other.txt'],
    ['windows paths', 'cannot read C:\\jobs\\a.txt', 'cannot read D:\\tmp\\b.txt'],
    ['addresses', 'GET https://a.example/x failed', 'GET http://b.example/y?z=1 failed'],
    ['times', 'expired at 2026-01-01T00:00:00Z', 'expired at 2027-12-31 23:59:59.123+02:00'],
    ['case and space', 'No  Answer', 'no answer'],
  ])('does not tell %s apart', (_what, one, other) => {
    expect(same(one, other)).toBe(1);
  });

  it('tells what is different apart, and the class too', () => {
    expect(same('no answer', 'no such file')).toBe(2);
    expect(fingerprintOf('error', 'x')).not.toBe(fingerprintOf('fatal', 'x'));
  });

  it('is short, however long the message, and stable under itself', () => {
    const long = fingerprintOf('error', 'word '.repeat(100_000));
    expect(long.length).toBeLessThanOrEqual(210);
    expect(fingerprintOf('error', '')).toBe('error: ');
  });
});
