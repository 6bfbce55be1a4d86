import { expect } from 'vitest';
import { audit } from '../../support/audit.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { makeFolder } from '../../support/server.js';
import { Board } from './board.js';
import type { Command } from './client.js';
import { Ledger, NONE } from './ledger.js';
import { Network } from './network.js';
import { Service, type ServiceOptions } from './service.js';

/** A service over a database of its own on the tests' server, with a network between the two that can be broken. */
export interface Rig {
  readonly database: TestDatabase;
  readonly network: Network;
  readonly service: Service;
  readonly ledger: Ledger;
  readonly board: Board;
  /** How often the log holds the fact of a command. */
  timesInLog(command: Command): Promise<number>;
  /** The rows and the log agree with one another, and with everything that was told. */
  expectWhole(): Promise<void>;
  close(): Promise<void>;
}

export async function startRig({
  env,
  execArgv,
}: Pick<ServiceOptions, 'env' | 'execArgv'> = {}): Promise<Rig> {
  const folder = await makeFolder();
  const database = await createTestDatabase();
  const network = await Network.open(database.url);
  const service = await Service.start({
    folder: folder.path,
    env: { DATABASE_URL: network.url, ...env },
    execArgv: execArgv ?? [],
  });
  const ledger = new Ledger();
  return {
    database,
    network,
    service,
    ledger,
    board: new Board(service, ledger),
    async timesInLog({ id, fact }) {
      const query = 'SELECT 1 FROM events WHERE request_id = $1 AND type = $2';
      return (await database.pool.query(query, [id, fact])).rowCount ?? 0;
    },
    async expectWhole() {
      expect(await ledger.compare(database.pool)).toEqual(NONE);
      expect(await audit(database.pool)).toEqual({});
    },
    async close() {
      await service.stop();
      await network.close();
      await database.drop();
      await folder.remove();
    },
  };
}
