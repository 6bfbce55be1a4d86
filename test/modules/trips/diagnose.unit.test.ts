import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/modules/trips/diagnose.js';
import type { AttemptFacts } from '../../../src/modules/trips/types.js';
import { costing, counted, failed, sentBack, someAttempt } from './histories.js';

const NO_NAMES = new Map<string, string>();

/** Every diagnosis of a trip by rework whose attempts all were sent back. */
function afterReworks(...attempts: readonly AttemptFacts[]) {
  const trip = counted('rework', { rework: attempts.length, attempt: attempts.length + 1 });
  return diagnose({ trip, attempts, acceptance: ['50 posts', 'no post twice'], names: NO_NAMES });
}

const codes = (found: readonly { readonly code: string }[]) => found.map(({ code }) => code);

describe('the same criterion', () => {
  it('is unmet in every verdict', () => {
    const [first] = afterReworks(
      sentBack(1, [[1, 'two twice'], 'slow']),
      sentBack(2, [[1, 'one twice']], { agentId: 'other' }),
    );
    expect(first).toEqual({
      code: 'same_criterion',
      attempts: [1, 2],
      explanation: 'Criterion 1 (“no post twice”) was found unmet in all 2 verdicts.',
    });
  });

  it('is not, when one verdict does not name it', () => {
    expect(codes(afterReworks(sentBack(1, [[1, 'two twice']]), sentBack(2, [[0, 'only 49']])))).not.toContain(
      'same_criterion',
    );
  });

  it('is not proven by a single verdict, nor by findings without a criterion', () => {
    expect(codes(afterReworks(sentBack(1, [[1, 'twice']])))).toEqual(['none']);
    expect(codes(afterReworks(sentBack(1, ['twice']), sentBack(2, ['twice'])))).toEqual(['none']);
  });
});

describe('moving goalposts', () => {
  it('are findings that are new each time', () => {
    const found = afterReworks(
      sentBack(1, ['no pictures']),
      sentBack(2, ['wrong time zone', 'no authors']),
      sentBack(3, ['too slow'], { agentId: 'other' }),
    );
    expect(found).toEqual([
      {
        code: 'moving_goalposts',
        attempts: [1, 2, 3],
        explanation:
          'The 3 verdicts made 4 different findings, and none of them repeats one of an earlier verdict.',
      },
    ]);
  });

  it('are not, when one finding comes again in other words of the same kind', () => {
    const found = afterReworks(
      sentBack(1, ['Only 20 of 50 posts!']),
      sentBack(2, ['wrong time zone']),
      sentBack(3, ['only 31 of 50 posts'], { agentId: 'other' }),
    );
    expect(codes(found)).toEqual(['none']);
  });

  it('need three verdicts; where there are no findings the reason stands for them', () => {
    expect(codes(afterReworks(sentBack(1, ['a']), sentBack(2, ['b'])))).toEqual(['none']);
    expect(codes(afterReworks(sentBack(1, []), sentBack(2, []), sentBack(3, [])))).toEqual(['one_pair']);
  });
});

describe('identical results', () => {
  it('were handed in one after the other', () => {
    const [first] = afterReworks(
      sentBack(1, ['a'], { resultHash: 'first' }),
      sentBack(2, ['b'], { resultHash: 'same' }),
      failed(3, 'no answer'),
      sentBack(4, ['a'], { resultHash: 'same', agentId: 'other' }),
    );
    expect(first).toMatchObject({ code: 'identical_results', attempts: [2, 4] });
    expect(first.explanation).toContain('2 times in a row (attempts 2 and 4)');
  });

  it('are not those with another result between them', () => {
    const found = afterReworks(
      sentBack(1, ['a'], { resultHash: 'same' }),
      sentBack(2, ['b'], { resultHash: 'other' }),
      sentBack(3, ['a'], { resultHash: 'same', agentId: 'other' }),
    );
    expect(codes(found)).toEqual(['none']);
  });
});

describe('one pair', () => {
  it('is when the same two are behind every verdict', () => {
    const trip = counted('rework', { rework: 3, attempt: 4 });
    const attempts = [sentBack(1, ['a']), sentBack(2, ['b']), sentBack(3, ['a'])];
    const names = new Map([
      ['executor', 'Ex'],
      ['reviewer', 'Rev'],
    ]);
    expect(diagnose({ trip, attempts, acceptance: [], names })).toEqual([
      {
        code: 'one_pair',
        attempts: [1, 2, 3],
        explanation: 'All 3 verdicts are between the same two: Ex works, Rev sends it back.',
      },
    ]);
  });

  it.each([
    ['executor', { agentId: 'other' }],
    ['reviewer', { reviewer: 'other' }],
  ])('is not, when another %s had one of them', (_who, other) => {
    expect(codes(afterReworks(sentBack(1, ['a']), sentBack(2, ['b']), sentBack(3, ['a'], other)))).toEqual([
      'none',
    ]);
  });
});

describe('one fingerprint', () => {
  const diagnosisOf = (...attempts: readonly AttemptFacts[]) => {
    const errors = attempts.filter(
      ({ error }) => error?.class === 'error' || error?.class === 'lease_expired',
    );
    const trip = counted('error', { error: errors.length, attempt: attempts.length + 1 });
    return diagnose({ trip, attempts, acceptance: [] });
  };

  it('is behind all counted errors', () => {
    const [first] = diagnosisOf(failed(1, 'feed gone'), someAttempt(2), failed(3, 'feed gone'));
    expect(first).toEqual({
      code: 'one_fingerprint',
      attempts: [1, 3],
      explanation: 'All 2 counted errors are one and the same: error: feed gone.',
    });
  });

  it('does not look at errors that do not count', () => {
    expect(
      codes(
        diagnosisOf(failed(1, 'feed gone'), failed(2, 'limited', 'rate_limited'), failed(3, 'feed gone')),
      ),
    ).toEqual(['one_fingerprint']);
  });

  it('is not, when one error is another', () => {
    expect(
      codes(diagnosisOf(failed(1, 'feed gone'), failed(2, 'disk full'), failed(3, 'feed gone'))),
    ).toEqual(['none']);
  });
});

describe('tokens rising', () => {
  const diagnosisOf = (...tokens: readonly number[]) => {
    const attempts = tokens.map((cost, i) => costing(i + 1, cost));
    return diagnose({ trip: counted('token', { attempt: attempts.length }), attempts, acceptance: [] });
  };

  it('is when each attempt costs a fifth more than the last, at least', () => {
    expect(diagnosisOf(100, 120, 144)).toEqual([
      {
        code: 'tokens_rising',
        attempts: [1, 2, 3],
        explanation: 'Each attempt used at least 20% more tokens than the one before: 100, 120, 144.',
      },
    ]);
  });

  it('is not, when one rises by less, or when there are only two', () => {
    expect(codes(diagnosisOf(100, 120, 143))).toEqual(['none']);
    expect(codes(diagnosisOf(100, 200))).toEqual(['none']);
  });
});

describe('a dependency', () => {
  const diagnosisOf = (...attempts: readonly AttemptFacts[]) =>
    codes(diagnose({ trip: counted('attempt', { attempt: attempts.length + 1 }), attempts, acceptance: [] }));

  it('is missing, when every failure is reported as from outside', () => {
    expect(
      diagnosisOf(failed(1, 'a', 'infrastructure'), someAttempt(2), failed(3, 'b', 'rate_limited')),
    ).toEqual(['dependency']);
  });

  it('is not proven, when one failure is of the work itself, or by a single failure', () => {
    expect(
      diagnosisOf(failed(1, 'a', 'infrastructure'), failed(2, 'b'), failed(3, 'c', 'infrastructure')),
    ).toEqual(['none']);
    expect(diagnosisOf(failed(1, 'a', 'infrastructure'))).toEqual(['none']);
  });
});

describe('a dead reviewer', () => {
  const diagnosisOf = (kind: 'review' | 'rework', review: number) =>
    diagnose({ trip: counted(kind, { review, attempt: 1 }), attempts: [someAttempt(1)], acceptance: [] });

  it('is when reviews end without a verdict', () => {
    expect(diagnosisOf('review', 3)[0]).toMatchObject({ code: 'dead_reviewer', attempts: [1] });
    expect(diagnosisOf('review', 1)[0].explanation).toMatch(/^1 review ended without a verdict/);
    expect(codes(diagnosisOf('rework', 2))).toEqual(['dead_reviewer']);
  });

  it('is not proven by one failed review beside another trip', () => {
    expect(codes(diagnosisOf('rework', 1))).toEqual(['none']);
  });
});

describe('of several diagnoses', () => {
  it('the one about the tripped layer comes first', () => {
    const attempts = [sentBack(1, [[0, 'a']]), sentBack(2, [[0, 'b']]), failed(3, 'x'), failed(4, 'x')];
    const counts = { rework: 2, error: 2, attempt: 5 };
    expect(codes(diagnose({ trip: counted('error', counts), attempts, acceptance: [] }))).toEqual([
      'one_fingerprint',
      'same_criterion',
    ]);
    expect(codes(diagnose({ trip: counted('rework', counts), attempts, acceptance: [] }))).toEqual([
      'same_criterion',
      'one_fingerprint',
    ]);
  });
});

describe('what happened before the last recovery', () => {
  it('is not looked at: the trip says how much was counted since', () => {
    const attempts = [
      sentBack(1, [[0, 'a']], { resultHash: 'same' }),
      sentBack(2, [[0, 'b']], { resultHash: 'same' }),
      sentBack(3, [[1, 'c']]),
      sentBack(4, [[1, 'd']]),
    ];
    const trip = counted('rework', { rework: 2, attempt: 3 });
    expect(codes(diagnose({ trip, attempts, acceptance: [] }))).toEqual(['same_criterion']);
    expect(diagnose({ trip, attempts, acceptance: [] })[0].attempts).toEqual([3, 4]);
  });
});

describe('no rule', () => {
  it('is said plainly', () => {
    const trip = counted('attempt', { attempt: 2 });
    expect(diagnose({ trip, attempts: [someAttempt(1, { outcome: 'released' })], acceptance: [] })).toEqual([
      {
        code: 'none',
        attempts: [],
        explanation: 'No rule fits the 1 attempt that led to this attempt trip. Read them before you decide.',
      },
    ]);
  });
});
