import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const URL_NAME = 'FUSEBOARD_URL';
const LINE = /^([A-Z0-9_]+)=(.*)$/;

/** The file in the data folder that holds the first keys, for a shell to read. */
export class KeysFile {
  readonly path: string;

  constructor(private readonly dataDir: string) {
    this.path = join(dataDir, 'keys.env');
  }

  /** The key of each agent by its name; what has no line is missing. */
  async keys(names: readonly string[]): Promise<Map<string, string>> {
    const lines = await this.lines();
    const values = new Map(lines.map((line) => [LINE.exec(line)?.[1], LINE.exec(line)?.[2]]));
    return new Map(
      names.flatMap((name) => {
        const key = values.get(variableOf(name));
        return key === undefined || key === '' ? [] : [[name, key] as const];
      }),
    );
  }

  /** Writes keys beside those that are there. */
  async putKeys(keys: ReadonlyMap<string, string>): Promise<void> {
    await this.put([...keys].map(([name, key]) => [variableOf(name), key]));
  }

  /** Writes the address that clients reach this server at. */
  async putUrl(url: string): Promise<void> {
    await this.put([[URL_NAME, url]]);
  }

  private async lines(): Promise<string[]> {
    try {
      return (await readFile(this.path, 'utf8')).split('\n').filter((line) => line !== '');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
      throw error;
    }
  }

  /** Replaces the file whole, so that nobody reads half of it, and none but the owner reads it at all. */
  private async put(values: readonly (readonly [string, string])[]): Promise<void> {
    const lines = await this.lines();
    const wanted = [...lines];
    for (const [name, value] of values) {
      const at = wanted.findIndex((line) => line.startsWith(`${name}=`));
      if (at === -1) wanted.push(`${name}=${value}`);
      else wanted[at] = `${name}=${value}`;
    }
    if (wanted.join('\n') === lines.join('\n')) return;
    await mkdir(this.dataDir, { recursive: true });
    const draft = `${this.path}.${randomBytes(6).toString('hex')}`;
    try {
      const file = await open(draft, 'wx', 0o600);
      try {
        await file.writeFile(`${wanted.join('\n')}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, this.path);
    } finally {
      await rm(draft, { force: true });
    }
  }
}

function variableOf(agentName: string): string {
  return `FUSEBOARD_${agentName.toUpperCase()}_KEY`;
}
