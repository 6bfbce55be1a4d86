import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const MARK = /(<!-- generated: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g;
const FOLDERS = ['.', 'docs', 'docs/reference', 'docs/how-to', 'docs/explanation', 'docs/adr'];

/** Every page of the documentation. */
export async function markdownFiles(root: string): Promise<string[]> {
  const found = await Promise.all(
    FOLDERS.map(async (folder) => {
      const names = await readdir(join(root, folder));
      return names
        .filter((name) => name.endsWith('.md'))
        .sort()
        .map((name) => join(root, folder, name));
    }),
  );
  return found.flat();
}

/** The text with each generated part as it is now. `placed` collects the names of the parts that were found. */
export function fillMarks(text: string, parts: ReadonlyMap<string, string>, placed: Set<string>): string {
  return text.replace(MARK, (_whole, begin: string, name: string, end: string) => {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`there is no generated part ${name}`);
    placed.add(name);
    return `${begin}${part.trim()}\n${end}`;
  });
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** Text set as code. */
export function code(text: string): string {
  return `\`${text}\``;
}
