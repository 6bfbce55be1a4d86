/**
 * Writes the API description to openapi.yaml, from the routes and without a database. With `--check` it writes nothing
 * and fails when the file is not what the routes say.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { describeApi } from '../src/app.js';
import { toYaml } from '../src/http/openapi.js';

const file = new URL('../openapi.yaml', import.meta.url);

async function fileText(): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return '';
  }
}

const wanted = toYaml(await describeApi());
if (!process.argv.includes('--check')) {
  await writeFile(file, wanted);
} else if ((await fileText()) !== wanted) {
  process.stderr.write('openapi.yaml is not what the routes say. Run this script without --check.\n');
  process.exitCode = 1;
}
