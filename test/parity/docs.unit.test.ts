import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { brokenLinks } from '../../scripts/docs/links.js';
import { fillMarks, markdownFiles } from '../../scripts/docs/marks.js';
import { parts } from '../../scripts/docs/parts.js';
import { describeEnvironment } from '../../src/config.js';
import { REFUSAL_CODES } from '../../src/kernel/refusal.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

async function page(name: string): Promise<string> {
  return readFile(`${root}docs/${name}`, 'utf8');
}

describe('the documentation', () => {
  it('says what the code says, in every generated part', async () => {
    const made = await parts();
    const placed = new Set<string>();
    for (const file of await markdownFiles(root)) {
      const text = await readFile(file, 'utf8');
      expect(fillMarks(text, made, placed) === text, `${file.slice(root.length)} needs npm run docs`).toBe(
        true,
      );
    }
    expect([...placed].sort()).toEqual([...made.keys()].sort());
  });

  it('has no link that leads nowhere', async () => {
    expect(await brokenLinks(root)).toEqual([]);
  });

  it('tells of every variable and every code', async () => {
    const configuration = await page('reference/configuration.md');
    const untold = describeEnvironment().filter(({ name }) => !configuration.includes(`| \`${name}\` |`));
    expect(untold).toEqual([]);
    const errors = await page('reference/errors.md');
    expect(REFUSAL_CODES.filter((code) => !errors.includes(`| \`${code}\` |`))).toEqual([]);
  });

  it('has a page for each decision, in its index', async () => {
    const index = await page('adr/README.md');
    const decisions = (await markdownFiles(root)).filter((file) => /adr\/\d{4}/.test(file));
    expect(decisions.length).toBeGreaterThan(10);
    for (const file of decisions) {
      const [, name = '', number = ''] = /\/((\d{4})-[a-z0-9-]+\.md)$/.exec(file) ?? [];
      const text = await readFile(file, 'utf8');
      const [, title = ''] = /^# \d{4}: (.+)$/m.exec(text) ?? [];
      expect(index).toContain(`[${number}](${name}) | ${title} |`);
      for (const part of ['## Context', '## Decision', '## Consequences']) expect(text).toContain(part);
      expect(text.split('\n').length, `${name} is one page`).toBeLessThan(60);
    }
  });
});
