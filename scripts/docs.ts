/**
 * Writes the generated parts of the documentation, between their marks, from the code that they tell of. With `--check` it
 * writes nothing, and fails when a part is not what the code says, or when a link leads nowhere.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { brokenLinks } from './docs/links.js';
import { fillMarks, markdownFiles } from './docs/marks.js';
import { parts } from './docs/parts.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const check = process.argv.includes('--check');
const faults: string[] = [];
const made = await parts();
const placed = new Set<string>();

for (const file of await markdownFiles(root)) {
  const text = await readFile(file, 'utf8');
  const filled = fillMarks(text, made, placed);
  if (filled !== text) {
    if (check) faults.push(`${file.slice(root.length)} is not what the code says; run npm run docs`);
    else await writeFile(file, filled);
  }
}
for (const name of made.keys())
  if (!placed.has(name)) faults.push(`no page has the mark of the part ${name}`);
faults.push(...(await brokenLinks(root)));

if (faults.length > 0) {
  process.stderr.write(`${faults.join('\n')}\n`);
  process.exitCode = 1;
}
