import { expect, it } from 'vitest';
import { readMigrations } from '../../../src/db/migration-files.js';

/**
 * The SHA-256 of each migration that a release has brought to databases out there, which refuse one that was changed since. At a
 * release, add the new ones; never edit a line.
 */
const RELEASED = [
  ['20261130200000_first', 'aa741c65a1881a0217a600058e1e53d65ee16b5c4251b58f10484615825a1f7e'],
];

it('no released migration was changed, taken away, or put behind a newer one', async () => {
  const migrations = await readMigrations();
  const first = migrations.slice(0, RELEASED.length);
  expect(first.map(({ name, checksum }) => [name, checksum])).toEqual(RELEASED);
});
