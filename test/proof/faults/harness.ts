import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect } from 'vitest';
import { readPidFile, stopServer } from '../../../src/db/embedded-server.js';
import { audit } from '../../support/audit.js';
import { makeFolder } from '../../support/server.js';
import { NONE } from './ledger.js';
import type { Load } from './load.js';

/** The folder of a service with a database of its own. */
export interface Home {
  readonly folder: string;
  /** The process of the database's server; null while there is none, or it does not take connections yet. */
  server(): Promise<number | null>;
  /** Works on the database beside the service. */
  withPool<T>(work: (pool: pg.Pool) => Promise<T>): Promise<T>;
  remove(): Promise<void>;
}

export async function makeHome(): Promise<Home> {
  const { path, remove } = await makeFolder();
  const cluster = join(path, 'postgres');
  return {
    folder: path,
    async server() {
      const file = await readPidFile(cluster);
      return file?.ready ? file.pid : null;
    },
    async withPool(work) {
      const file = await readPidFile(cluster);
      const password = (await readFile(join(cluster, 'fuseboard.password'), 'utf8')).trim();
      const connectionString = `postgres://fuseboard:${password}@127.0.0.1:${file?.port ?? 0}/fuseboard`;
      const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 5_000, max: 2 });
      pool.on('error', () => undefined);
      try {
        return await work(pool);
      } finally {
        await pool.end();
      }
    },
    async remove() {
      // Only a test that failed half-way leaves a server.
      const left = await readPidFile(cluster);
      if (left !== null) await stopServer(left.pid, cluster);
      await remove();
    },
  };
}

/** The rows and the log agree with one another, and with everything that the clients were told. */
export async function expectWhole(pool: pg.Pool, load: Load, { all = false } = {}): Promise<void> {
  expect(await load.ledger.compare(pool, { all })).toEqual(NONE);
  expect(await audit(pool)).toEqual({});
}

/** How long recoveries took, in milliseconds. */
export function timesOf(times: readonly number[]): { readonly median: number; readonly max: number } {
  const sorted = [...times].sort((a, b) => a - b);
  return {
    median: Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0),
    max: Math.round(sorted.at(-1) ?? 0),
  };
}
