import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPool } from '../../src/db/pool.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { quietLog } from '../support/server.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
});

afterAll(async () => {
  await database.drop();
});

describe('what comes out of the pool', () => {
  test('a bigint is a number, and a timestamp a Date', async () => {
    const { rows } = await database.pool.query(
      "SELECT 9007199254740991::int8 AS big, '2026-01-02T03:04:05.678+02'::timestamptz(3) AS at",
    );
    expect(rows).toEqual([{ big: Number.MAX_SAFE_INTEGER, at: new Date('2026-01-02T01:04:05.678Z') }]);
  });

  test('a bigint that no number can hold fails, and the connection goes on', async () => {
    await expect(database.pool.query('SELECT 9007199254740993::int8')).rejects.toThrow(
      'the bigint 9007199254740993 does not fit',
    );
    expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  test('queries given to one client at once are answered in order, the refused one alone refused', async () => {
    const client = await database.pool.connect();
    try {
      const answers = await Promise.allSettled([
        client.query('SELECT 1 AS n'),
        client.query('SELECT 1 / 0'),
        client.query('SELECT 3 AS n'),
      ]);
      expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    } finally {
      client.release();
    }
  });
});

test('a statement over its time is cancelled', async () => {
  const pool = createPool({ databaseUrl: database.url, poolSize: 1, statementTimeoutMs: 100 }, quietLog);
  try {
    await expect(pool.query('SELECT pg_sleep(60)')).rejects.toThrow('statement timeout');
  } finally {
    await pool.end();
  }
});

test('an idle connection that the server ends costs neither the process nor the next query', async () => {
  const lost: string[] = [];
  const log = { ...quietLog, warn: (_details: object, message: string) => lost.push(message) };
  const pool = createPool({ databaseUrl: database.url, poolSize: 1, statementTimeoutMs: 5000 }, log);
  try {
    const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const gone = new Promise((resolve) => pool.once('remove', resolve));
    await database.pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    await gone;
    expect(lost).toEqual(['an idle database connection was lost']);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  } finally {
    await pool.end();
  }
});

test('a connection that breaks off while it is lent out costs neither the process nor the next query', async () => {
  const pool = createPool({ databaseUrl: database.url, poolSize: 1, statementTimeoutMs: 5000 }, quietLog);
  try {
    const client = await pool.connect();
    const running = client.query('SELECT pg_sleep(60)');
    // As when the server is killed: it says nothing more. Without anybody listening, this would be thrown to nobody.
    const { stream } = Reflect.get(client, 'connection');
    stream.destroy();
    await expect(running).rejects.toThrow('Connection terminated');
    client.release(true);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  } finally {
    await pool.end();
  }
});
