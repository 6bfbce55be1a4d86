import { describe, expect, it } from 'vitest';
import { isDatabaseUnavailable } from '../../src/db/faults.js';

function coded(code: string, message = 'x'): Error {
  return Object.assign(new Error(message), { code });
}

describe('the database is unavailable', () => {
  it.each([
    ['a class 08 state', coded('08006')],
    ['too many connections', coded('53300')],
    ['a disk that is full', coded('53100')],
    ['a shutdown', coded('57P01')],
    ['a start', coded('57P03')],
    ['a password that has changed', coded('28P01')],
    ['a database that was renamed', coded('3D000')],
    ['a database closed by hand', coded('55000', 'database "x" is not currently accepting connections')],
    ['a statement timeout', coded('57014')],
    ['a lock timeout', coded('55P03')],
    ['a server that became a replica', coded('25006')],
    ['a refused connection', coded('ECONNREFUSED')],
    ['a reset connection', coded('ECONNRESET')],
    ['a Prisma code', coded('P2024')],
    ['a Prisma start-up code', Object.assign(new Error('x'), { errorCode: 'P1001' })],
    ['a bare error of the driver', new Error('Connection terminated unexpectedly')],
    ['a pool that gives no connection', new Error('timeout exceeded when trying to connect')],
    ['a dead client', new Error('Client has encountered a connection error and is not queryable')],
    ['a cause', new Error('query failed', { cause: new Error('wrapped', { cause: coded('57P01') }) })],
    ['one of several attempts', new AggregateError([coded('EHOSTUNREACH'), coded('ECONNREFUSED')])],
    ['a code in an object that is no Error', { cause: { originalCode: '57P02' } }],
  ])('at %s', (_case, error) => {
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it.each([
    ['a unique violation', coded('23505')],
    ['a check violation', coded('23514')],
    ['a syntax error', coded('42601')],
    ['a statement out of place', coded('55000', 'lastval is not yet defined in this session')],
    ['a deadlock', coded('40P01')],
    ['a Prisma query error', coded('P2002')],
    ['a bug', new TypeError('x is not a function')],
    ['nothing', null],
    ['a string', 'Connection terminated'],
  ])('but not at %s', (_case, error) => {
    expect(isDatabaseUnavailable(error)).toBe(false);
  });

  it('and a circle of causes ends', () => {
    const one = new Error('one');
    one.cause = new Error('two', { cause: one });
    expect(isDatabaseUnavailable(one)).toBe(false);
  });
});
