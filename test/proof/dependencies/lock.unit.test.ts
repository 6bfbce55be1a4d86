import { describe, expect, it } from 'vitest';
import { findingsIn, installedIn, isCompatible, unboundIn } from './lock.js';
import { compareVersions } from './versions.js';

const SUM = `sha512-${'A'.repeat(86)}==`;

/** A lock file with these packages in it. */
function lock(packages: Readonly<Record<string, object>>): ReturnType<typeof installedIn> {
  const bound = Object.entries(packages).map(([path, entry]) => [path, { integrity: SUM, ...entry }]);
  return installedIn(
    JSON.stringify({
      lockfileVersion: 3,
      packages: { '': { name: 'x', version: '1.0.0' }, ...Object.fromEntries(bound) },
    }),
  );
}

describe('versions', () => {
  it('are ordered by number and not by letter, and what was tried comes before what is released', () => {
    const inOrder = [
      '0.9.9',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.2.9',
      '1.2.10',
      '1.10.0',
      '2.0.0',
      '10.0.0',
    ];
    for (const [n, version] of inOrder.entries())
      for (const [m, other] of inOrder.entries())
        expect([version, other, Math.sign(compareVersions(version, other))]).toEqual([
          version,
          other,
          Math.sign(n - m),
        ]);
    expect(compareVersions('1.0.0+one', '1.0.0+two')).toBe(0);
    expect(() => compareVersions('^1.0.0', '1.0.0')).toThrow('^1.0.0 is no version');
  });
});

describe('an old package is found', () => {
  it.each([
    ['node_modules/fastify', '5.12.7', ['older than 5.12.8']],
    ['node_modules/fastify', '5.8.4', ['GHSA-247c-9743-5963', 'older than 5.12.8']],
    ['node_modules/fastify', '4.29.1', expect.arrayContaining(['older than 5.12.8'])],
    ['node_modules/fastify', '6.0.0-alpha.1', []],
    ['node_modules/@fastify/static', '10.1.10', ['older than 10.1.11']],
    ['node_modules/fast-uri', '4.2.3', ['older than 4.2.4']],
    ['node_modules/ajv/node_modules/fast-uri', '3.1.8', ['older than 3.1.9']],
    ['node_modules/undici', '6.99.0', ['older than 7.30.2']],
    ['node_modules/a/node_modules/b/node_modules/qs', '6.15.3', ['GHSA-x5fp-wj9c-mxmx']],
    ['node_modules/qs', '6.16.0', []],
    ['node_modules/brace-expansion', '2.1.2', ['GHSA-mh99-v99m-4gvg']],
    ['node_modules/brace-expansion', '2.1.3', []],
    ['node_modules/debug', '4.4.2', ['GHSA-8mgj-vmr8-frr6']],
    ['node_modules/debug', '4.4.1', []],
  ])('%s %s', (path, version, by) => {
    expect(findingsIn(lock({ [path]: { version } })).map((finding) => finding.by)).toEqual(by);
  });

  it('under another name than its own', () => {
    const found = findingsIn(lock({ 'node_modules/router': { name: 'fastify', version: '5.0.0' } }));
    expect(found.length).toBeGreaterThan(0);
  });

  it('at every place where it lies, and with whether it is shipped', () => {
    const found = findingsIn(
      lock({
        'node_modules/qs': { version: '6.14.0', dev: true },
        'node_modules/x/node_modules/qs': { version: '6.15.0' },
        'node_modules/y/node_modules/qs': { version: '6.15.0', devOptional: true },
        'node_modules/z/node_modules/qs': { version: '6.15.0', optional: true },
      }),
    );
    const places = new Map(found.map(({ path, isShipped }) => [path, isShipped]));
    expect([...places.values()]).toEqual([false, true, false, true]);
  });
});

describe('what is not bound to one content is found', () => {
  it.each([
    ['without a sum', { integrity: undefined }],
    ['with a weaker sum', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }],
    ['with a sum cut short', { integrity: 'sha512-AAAA==' }],
    ['from a repository', { resolved: 'git+ssh://git@example.com/x.git#1' }],
    ['over an open line', { resolved: 'http://example.com/x/-/x-1.0.0.tgz' }],
    ['from another folder', { link: true }],
  ])('%s', (_, entry) => {
    const path = 'node_modules/x';
    expect(unboundIn(lock({ [path]: { version: '1.0.0', ...entry } }))).toEqual([path]);
  });

  it('and nothing else is', () => {
    const resolved = 'https://example.com/@x/y/-/y-1.0.0.tgz';
    const bound = {
      'node_modules/x': { version: '1.0.0' },
      'node_modules/@x/y': { version: '1.0.0', resolved },
    };
    expect(unboundIn(lock(bound))).toEqual([]);
  });
});

it.each([
  ['MIT', true],
  ['(MIT OR GPL-3.0-only)', true],
  ['MIT AND ISC', true],
  ['MIT AND GPL-3.0-only', false],
  ['GPL-3.0-only', false],
  ['EPL-2.0', false],
  ['SEE LICENSE IN LICENSE', false],
  ['', false],
  [undefined, false],
])('the licence %s may be shipped: %s', (license, may) => {
  expect(isCompatible(license)).toBe(may);
});
