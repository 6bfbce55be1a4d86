import { describe, expect, it } from 'vitest';
import type { Role } from '../../../src/kernel/actor.js';
import {
  type Answer,
  NEW_OBJECT,
  type Operation,
  type Possible,
  possible,
  runOut,
  type Sent,
} from './specification.js';
import { type Agent, type Call, LIMITS } from './task.js';

const agent = (id: string, ...roles: Role[]): Agent => ({ id, roles });
const ann = agent('ann', 'executor');
const ben = agent('ben', 'executor');
const cleo = agent('cleo', 'executor', 'reviewer');
const rita = agent('rita', 'reviewer');
const paul = agent('paul', 'planner');
const olga = agent('olga', 'operator');

const WORK: Call = { type: 'claim', purpose: 'work' };
const REVIEW: Call = { type: 'claim', purpose: 'review' };
const APPROVE: Call = { type: 'approve', attempt: null, token: null };
const REWORK: Call = { type: 'rework', attempt: null, token: null, broken: false };
const UNBLOCK: Call = { type: 'unblock', to: 'pending', changes: true, resetTokens: true };
const READ: Call = { type: 'read' };
const submit = (token: number, tokens = 0): Call => ({ type: 'submit', token, tokens });
const usage = (token: number, tokens: number): Call => ({ type: 'usage', token, tokens });
const fail = (token: number): Call => ({ type: 'fail', token, tokens: 0, counts: true });

/** One task, used by one client after another. */
class Walk {
  state = NEW_OBJECT;

  /** What may be answered now; a lease that is told of lasts until 1000. */
  ask(by: Agent, call: Call, over: Partial<Sent> = {}, until = 0): Possible[] {
    const sent = { agent: by, call, key: null, version: null, ...over };
    const operation: Operation = {
      id: 'x',
      sent,
      invokedAt: 0,
      answeredAt: 1,
      answer: null,
      leaseUntil: 1_000,
    };
    return possible(this.state, operation, until);
  }

  send(by: Agent, call: Call, over: Partial<Sent> = {}): Answer {
    const [first, ...others] = this.ask(by, call, over);
    if (first === undefined || others.length > 0) throw new Error('not one answer is possible');
    this.state = first.state;
    return first.answer;
  }

  codes(by: Agent, ...calls: readonly Call[]): string[] {
    return calls.map((call) => this.send(by, call).code);
  }

  get shown() {
    return this.send(paul, READ).fields;
  }
}

describe('a claim', () => {
  it('gives the task to one, and tells the others', () => {
    const walk = new Walk();
    expect(walk.send(ann, WORK).fields).toMatchObject({
      lease_token: 1,
      attempt: 1,
      version: 2,
      claimed_by: 'ann',
    });
    expect(walk.codes(ben, WORK, REVIEW)).toEqual(['already_claimed', 'invalid_transition']);
  });

  it('repeated by its holder is the same claim', () => {
    const walk = new Walk();
    expect(walk.send(ann, WORK)).toEqual(walk.send(ann, WORK));
  });

  it('of a review is none of those who worked on the task', () => {
    const walk = new Walk();
    walk.codes(cleo, WORK, submit(1));
    expect(walk.codes(cleo, REVIEW, APPROVE, REWORK)).toEqual(['self_review', 'self_review', 'self_review']);
    expect(walk.send(rita, REVIEW).fields).toMatchObject({ lease_token: 2, version: 3 });
    expect(walk.codes(olga, APPROVE)).toEqual(['already_claimed']);
  });
});

describe('a stale hand', () => {
  it('changes nothing', () => {
    const walk = new Walk();
    walk.codes(ann, WORK, { type: 'release', token: 1 });
    walk.send(ben, WORK);
    const before = walk.shown;
    expect(walk.codes(ann, submit(1), fail(1), submit(2))).toEqual([
      'lease_lost',
      'lease_lost',
      'lease_lost',
    ]);
    expect(walk.shown).toEqual(before);
  });

  it('still reports what it has used', () => {
    const walk = new Walk();
    walk.codes(ann, WORK, { type: 'release', token: 1 });
    walk.send(ben, WORK);
    expect(walk.codes(ann, usage(1, 30), usage(2, 30))).toEqual(['ok', 'lease_lost']);
    expect(walk.shown).toMatchObject({ tokens_used: 30, state: 'in_progress' });
  });

  it('that was stopped may hand in, and the state stays', () => {
    const walk = new Walk();
    walk.send(ann, WORK);
    walk.send(olga, { type: 'block' });
    expect(walk.send(ann, { type: 'heartbeat', token: 1, tokens: 0 }).fields).toEqual({ directive: 'stop' });
    expect(walk.codes(ann, submit(1))).toEqual(['ok']);
    expect(walk.codes(paul, UNBLOCK)).toEqual(['escalation_required']);
    expect(walk.codes(olga, { ...UNBLOCK, to: 'in_review' })).toEqual(['ok']);
    expect(walk.shown).toMatchObject({ state: 'in_review' });
  });
});

describe('a reviewer', () => {
  it('hands in nothing, and a stranger with its token has no lease at all', () => {
    const walk = new Walk();
    walk.codes(ann, WORK, submit(1));
    walk.codes(rita, REVIEW);
    expect(walk.codes(rita, submit(2), fail(2))).toEqual(['invalid_transition', 'invalid_transition']);
    expect(walk.codes(ben, submit(2), fail(2))).toEqual(['lease_lost', 'lease_lost']);
  });

  it('whose task was stopped is told to stop, and reports what the review has used', () => {
    const walk = new Walk();
    walk.codes(ann, WORK, submit(1));
    walk.codes(rita, REVIEW);
    walk.codes(paul, { type: 'block' });
    expect(walk.send(rita, { type: 'heartbeat', token: 2, tokens: 10 }).fields).toEqual({
      directive: 'stop',
    });
    expect(walk.codes(rita, usage(2, 10), submit(2))).toEqual(['ok', 'lease_lost']);
    expect(walk.shown).toMatchObject({ state: 'blocked', tokens_used: 20 });
  });
});

describe('a verdict', () => {
  it('is one an attempt, and names the right one', () => {
    const walk = new Walk();
    walk.codes(ann, WORK, submit(1));
    expect(walk.codes(rita, { ...REWORK, attempt: 2 }, REWORK, APPROVE)).toEqual([
      'stale_attempt',
      'ok',
      'verdict_already_recorded',
    ]);
    expect(walk.shown).toMatchObject({ state: 'rework', rework_count: 1 });
  });
});

describe('a limit', () => {
  it('of reworks blocks, and a planner lifts it with a change', () => {
    const walk = new Walk();
    for (let lap = 1; lap <= LIMITS.reworks; lap += 1) {
      walk.codes(ann, WORK, submit(lap));
      walk.send(rita, REWORK);
    }
    expect(walk.shown).toMatchObject({ state: 'blocked', block: 'rework', tripped: true });
    expect(walk.codes(ann, WORK)).toEqual(['task_blocked']);
    expect(walk.codes(paul, UNBLOCK)).toEqual(['ok']);
    expect(walk.shown).toMatchObject({ state: 'pending', rework_count: 0, unblock_count: 1 });
  });

  it('of tokens stores what was handed in, and blocks', () => {
    const walk = new Walk();
    walk.codes(ann, WORK, submit(1, LIMITS.tokens + 1));
    expect(walk.shown).toMatchObject({ state: 'blocked', block: 'token' });
    expect(walk.codes(paul, { ...UNBLOCK, resetTokens: false })).toEqual(['still_over_limit']);
    expect(walk.codes(paul, { ...UNBLOCK, to: 'in_review' })).toEqual(['ok']);
  });

  it('far passed is for an operator', () => {
    const walk = new Walk();
    walk.codes(ann, WORK, submit(1, LIMITS.tokens * 2));
    expect(walk.codes(paul, UNBLOCK)).toEqual(['escalation_required']);
    expect(walk.codes(olga, UNBLOCK)).toEqual(['ok']);
  });

  it('reached again needs a change, and then an operator', () => {
    const walk = new Walk();
    const unchanged: Call = { ...UNBLOCK, changes: false };
    let token = 0;
    const trip = () => {
      for (let error = 0; error < LIMITS.errors; error += 1) walk.codes(ann, WORK, fail(++token));
    };
    trip();
    expect(walk.codes(paul, unchanged)).toEqual(['ok']);
    trip();
    expect(walk.codes(paul, unchanged, UNBLOCK)).toEqual(['nothing_changed', 'ok']);
    trip();
    expect(walk.codes(paul, UNBLOCK)).toEqual(['escalation_required']);
  });
});

describe('a lease', () => {
  it('may have run out when it has, and not before', () => {
    const walk = new Walk();
    walk.send(ann, WORK);
    expect(walk.ask(ben, WORK, {}, 999).map(({ answer }) => answer.code)).toEqual(['already_claimed']);
    expect(walk.ask(ben, WORK, {}, 1_000).map(({ answer }) => answer)).toMatchObject([
      { code: 'already_claimed' },
      { code: 'ok', fields: { attempt: 2, error_count: 1, version: 3, claimed_by: 'ben' } },
    ]);
  });

  it('that the server ends counts an error, and its holder comes too late', () => {
    const walk = new Walk();
    walk.send(ann, WORK);
    walk.state = runOut(walk.state);
    expect(walk.shown).toMatchObject({ state: 'pending', error_count: 1, version: 3 });
    expect(walk.codes(ann, submit(1))).toEqual(['lease_lost']);
  });

  it('of a review that ran out counts a failed review', () => {
    const walk = new Walk();
    walk.codes(ann, WORK, submit(1));
    walk.send(rita, REVIEW);
    walk.state = runOut(walk.state);
    expect(walk.shown).toMatchObject({ state: 'in_review', review_failures: 1 });
  });
});

describe('a command sent again with its key', () => {
  const key = { key: 'k' };

  it('is done once, and answered as it was', () => {
    const walk = new Walk();
    walk.send(ann, WORK);
    const first = walk.send(ann, usage(1, 30), key);
    walk.send(ann, usage(1, 5));
    expect(walk.send(ann, usage(1, 30), key)).toEqual({ ...first, replayed: true });
    expect(walk.shown).toMatchObject({ tokens_used: 35 });
  });

  it('is judged anew where it was refused', () => {
    const walk = new Walk();
    expect(walk.send(rita, REWORK, key).code).toBe('invalid_transition');
    walk.codes(ann, WORK, submit(1));
    expect(walk.send(rita, REWORK, key)).toMatchObject({ code: 'ok', replayed: false });
  });

  it('is the agent’s own and that route’s', () => {
    const walk = new Walk();
    walk.send(ann, WORK, key);
    expect(walk.send(ben, WORK, key).code).toBe('already_claimed');
    expect(walk.send(ann, submit(1), key)).toMatchObject({ code: 'ok', replayed: false });
  });
});

it('a command for another version changes nothing', () => {
  const walk = new Walk();
  expect(walk.send(ann, WORK, { version: 2 }).code).toBe('stale_version');
  expect(walk.send(ann, WORK, { version: 1 }).code).toBe('ok');
});
