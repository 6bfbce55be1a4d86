import { describe, expect, it } from 'vitest';
import type { LogEntry } from './crew.js';
import { contradictionIn } from './log.js';
import { type Answer, NEW_OBJECT, type Operation, possible } from './specification.js';
import type { Agent, Call } from './task.js';

const ann: Agent = { id: 'ann', roles: ['executor'] };
const rita: Agent = { id: 'rita', roles: ['reviewer'] };

/** A claim, a submission and a verdict, one after another and each answered, and a last read. */
function lap(): { operations: Operation[]; log: LogEntry[] } {
  const calls: [Agent, Call][] = [
    [ann, { type: 'claim', purpose: 'work' }],
    [ann, { type: 'submit', token: 1, tokens: 0 }],
    [rita, { type: 'rework', attempt: null, token: null, broken: false }],
    [rita, { type: 'approve', attempt: null, token: null }],
    [rita, { type: 'read' }],
  ];
  let state = NEW_OBJECT;
  const operations = calls.map(([agent, call], n): Operation => {
    const sent = { agent, call, key: null, version: null };
    const asked = {
      id: `request ${n}`,
      sent,
      invokedAt: n * 10,
      answeredAt: n * 10 + 5,
      answer: null,
      leaseUntil: null,
    };
    const [done] = possible(state, asked, 0);
    if (done === undefined) throw new Error('nothing is possible');
    state = done.state;
    return { ...asked, answer: done.answer };
  });
  const types = ['task.created', 'task.claimed', 'task.submitted', 'task.rework_requested'];
  const log = types.map((type, n) => ({ number: n + 1, type, requestId: `request ${n - 1}` }));
  return { operations, log };
}

const changed = <T>(list: readonly T[], at: number, over: Partial<T>): T[] =>
  list.map((one, n) => (n === at ? { ...one, ...over } : one));

/** The log renumbered without gaps. */
const numbered = (log: readonly LogEntry[]): LogEntry[] =>
  log.map((entry, n) => ({ ...entry, number: n + 1 }));

describe('a log agrees with its history', () => {
  it('when each command has its event, in order', () => {
    const { operations, log } = lap();
    expect(contradictionIn(log, operations)).toBeNull();
  });

  it('whether or not a command that had no answer is in it', () => {
    const { operations, log } = lap();
    const lost = { answeredAt: null, answer: null };
    expect(contradictionIn(log, changed(operations, 2, lost))).toBeNull();
    const unread = operations.slice(0, 3);
    expect(contradictionIn(log.slice(0, 3), changed(unread, 2, lost))).toBeNull();
  });

  it('when a lease ran out', () => {
    const { operations } = lap();
    const log: LogEntry[] = [
      { number: 1, type: 'task.created', requestId: 'request -1' },
      { number: 2, type: 'task.claimed', requestId: 'request 0' },
      { number: 3, type: 'task.lease_expired', requestId: 'server-1' },
    ];
    expect(contradictionIn(log, operations.slice(0, 1))).toBeNull();
  });
});

describe('a log contradicts its history', () => {
  const { operations, log } = lap();

  it('with a gap', () => {
    expect(contradictionIn(changed(log, 2, { number: 4 }), operations)).toMatch('has the number 4');
  });

  it('without the event of a command that was acknowledged', () => {
    expect(contradictionIn(log.slice(0, 3), operations)).toMatch('rework request 2 left 0 events');
  });

  it('with two events of one command', () => {
    expect(contradictionIn(numbered([...log.slice(0, 3), ...log.slice(2)]), operations)).toMatch(
      'left 2 events',
    );
  });

  it('with an event of a command that was refused, or only replayed', () => {
    const approved = { number: 5, type: 'task.approved', requestId: 'request 3' };
    expect(contradictionIn([...log, approved], operations)).toMatch('approve request 3 left 1 events');
    const { answer } = operations[1] ?? {};
    const replayed: Answer = { code: 'ok', fields: answer?.fields ?? null, replayed: true };
    expect(contradictionIn(log, changed(operations, 1, { answer: replayed }))).toMatch(
      'submit request 1 left 1',
    );
  });

  it('with an event of nobody', () => {
    const strange = { number: 5, type: 'guard.warned', requestId: 'a stranger’s' };
    expect(contradictionIn([...log, strange], operations)).toMatch('a request that nobody sent');
  });

  it('in an order that the answers do not allow', () => {
    const [created, claimed, submitted, reworked] = log;
    if (!created || !claimed || !submitted || !reworked) throw new Error('the log is short');
    const swapped = numbered([created, submitted, claimed, reworked]);
    const together = operations.map((operation) => ({ ...operation, invokedAt: 0, answeredAt: 99 }));
    expect(contradictionIn(swapped, together)).toMatch('cannot follow');
  });

  it('in an order that the times do not allow', () => {
    const late = changed(operations, 1, { invokedAt: 50, answeredAt: 60 });
    expect(contradictionIn(log, late)).toMatch('stands after one of a command that was sent only when');
  });

  it('when what was read last is something else', () => {
    const { answer } = operations[0] ?? {};
    expect(contradictionIn(log, changed(operations, 4, { answer: answer ?? null }))).toMatch(
      'what was read last',
    );
  });
});
