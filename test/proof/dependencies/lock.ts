import { z } from 'zod';
import { ADVISORIES, type Advisory, FLOORS } from './advisories.js';
import { compareVersions } from './versions.js';

const entry = z.object({
  version: z.string(),
  name: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  license: z.string().optional(),
  link: z.boolean().optional(),
  dev: z.boolean().optional(),
  devOptional: z.boolean().optional(),
  hasInstallScript: z.boolean().optional(),
});

const lockFile = z.object({
  lockfileVersion: z.literal(3),
  packages: z.record(z.string(), z.unknown()),
});

/** One package as it is installed at one place. */
export interface Installed extends z.output<typeof entry> {
  readonly name: string;
  /** Where it lies: `node_modules/ajv/node_modules/fast-uri`. */
  readonly path: string;
  /** It is in what is shipped, and not only here to build and test. */
  readonly isShipped: boolean;
}

/** Every package of a lock file, nested ones too. */
export function installedIn(text: string): Installed[] {
  const { packages } = lockFile.parse(JSON.parse(text));
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, found]) => {
      const known = entry.parse(found);
      // An alias lies under another name than it has.
      const name = known.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      // The image drops the development packages from package.json before it prunes, so that these go as well.
      return { ...known, name, path, isShipped: known.dev !== true && known.devOptional !== true };
    });
}

/** What is wrong with one package, and by what. */
export interface Finding {
  readonly path: string;
  readonly version: string;
  readonly by: string;
  readonly isShipped: boolean;
}

/** Every package that a known advisory is about, or that is older than the oldest taken. */
export function findingsIn(all: readonly Installed[]): Finding[] {
  return all.flatMap(({ name, path, version, isShipped }) => {
    const known = (ADVISORIES[name] ?? []).filter((one) => concerns(one, version)).map(({ id }) => id);
    return [...known, ...belowFloor(name, version)].map((by) => ({ path, version, by, isShipped }));
  });
}

function concerns({ affected }: Advisory, version: string): boolean {
  return affected.some(
    ([from, fixed]) => compareVersions(version, from) >= 0 && compareVersions(version, fixed) < 0,
  );
}

/** A line that is not named is only taken when it is newer than all that are. */
function belowFloor(name: string, version: string): string[] {
  const floors = FLOORS[name];
  if (floors === undefined) return [];
  const floor = floors[Number(version.split('.')[0])];
  const least = floor ?? Object.values(floors).sort(compareVersions).at(-1) ?? version;
  return compareVersions(version, least) < 0 ? [`older than ${least}`] : [];
}

const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;
/** An archive as a registry serves it. Most lock files leave it out, since it follows from name and version. */
const ARCHIVE = /^https:\/\/[^/]+\/(@[^/]+\/)?[^/]+\/-\/[^/]+\.tgz$/;

/** Packages whose content the lock file does not hold to one sum, or that come from elsewhere than a registry. */
export function unboundIn(all: readonly Installed[]): string[] {
  const isBound = ({ integrity, link, resolved }: Installed) =>
    SHA512.test(integrity ?? '') && link !== true && (resolved === undefined || ARCHIVE.test(resolved));
  return all.filter((one) => !isBound(one)).map(({ path }) => path);
}

/** Licences under which a part may be shipped together with what is under Apache 2.0. */
const COMPATIBLE = [
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'Unlicense',
];

/** Whether a licence, or an expression of several, may be shipped: one of an `OR`, each of an `AND`. */
export function isCompatible(license: string | undefined): boolean {
  const plain = (license ?? '').replace(/[()]/g, '');
  return plain
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((part) => COMPATIBLE.includes(part.trim())));
}
