import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.js';
import { urlOf } from './database-url.js';
import { quietLog, startTestServer } from './server.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A server on which the tests may make and drop databases. */
    serverUrl: string;
    /** The migrated database that they copy. */
    templateDatabase: string;
  }
}

async function run(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

/** One server and one migrated template for the whole run; FUSEBOARD_TEST_DATABASE_URL names another server. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.FUSEBOARD_TEST_DATABASE_URL;
  const server = given ? { url: given, stop: async () => {} } : await startTestServer();
  const template = `template_${randomBytes(8).toString('hex')}`;
  try {
    await run(server.url, `CREATE DATABASE ${template} TEMPLATE template0`);
    await migrate(urlOf(server.url, template), { log: quietLog });
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide('serverUrl', server.url);
  project.provide('templateDatabase', template);
  return async () => {
    await run(server.url, `DROP DATABASE ${template} WITH (FORCE)`);
    await server.stop();
  };
}
