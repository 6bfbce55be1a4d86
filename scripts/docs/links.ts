import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { markdownFiles } from './marks.js';

const LINK = /\]\(([^)\s]+)\)/g;
const FENCE = /```[\s\S]*?```/g;
const HEADING = /^#{1,6} (.+)$/gm;

/** Links between pages, and into them, that lead nowhere. */
export async function brokenLinks(root: string): Promise<string[]> {
  const faults: string[] = [];
  for (const file of await markdownFiles(root)) {
    const text = (await readFile(file, 'utf8')).replace(FENCE, '');
    for (const [, target = ''] of text.matchAll(LINK)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const aim = path === '' ? file : resolve(dirname(file), path);
      const leads = existsSync(aim) && (anchor === undefined || (await anchorsOf(aim)).has(anchor));
      if (!leads) faults.push(`${file.slice(root.length)}: the link ${target} leads nowhere`);
    }
  }
  return faults;
}

/** What a page's headings are linked by. */
async function anchorsOf(file: string): Promise<Set<string>> {
  if (!file.endsWith('.md')) return new Set();
  const text = (await readFile(file, 'utf8')).replace(FENCE, '');
  return new Set(
    [...text.matchAll(HEADING)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replace(/\s/g, '-'),
    ),
  );
}
