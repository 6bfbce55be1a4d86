// Prints the SQL of a new migration: from the schema in a given file (from nothing, without one) to the present.
//   npm run --silent migration:sql -- old-schema.prisma
import { readFile } from 'node:fs/promises';
import { readSchema } from '../src/db/migration-files.js';
import { schemaDiff } from '../src/db/schema-engine.js';
import { startTestServer } from '../test/support/server.js';

const [oldSchema] = process.argv.slice(2);
const server = await startTestServer();
try {
  const from = oldSchema === undefined ? undefined : await readFile(oldSchema, 'utf8');
  process.stdout.write(await schemaDiff(server.url, await readSchema(), from));
} finally {
  await server.stop();
}
