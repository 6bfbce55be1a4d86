import { createHash } from 'node:crypto';
import type { Migration } from '../../../src/db/migration-files.js';

/** A migration that is not there, later than all that are. */
export function planted(sql: string): Migration {
  return {
    name: '99991231000000_planted',
    sql,
    checksum: createHash('sha256').update(sql).digest('hex'),
  };
}

const TABLES = [
  'projects',
  'agents',
  'api_keys',
  'runs',
  'tasks',
  'dependencies',
  'attempts',
  'trips',
  'breakers',
  'events',
  'idempotency_keys',
];

/** What a migration between two releases may do: add a column to every table, an index and a check. */
export const ADDITIVE = [
  ...TABLES.map((table) => `ALTER TABLE ${table} ADD COLUMN planted text DEFAULT 'new';`),
  'CREATE INDEX tasks_planted_idx ON tasks (project_id, planted);',
  "ALTER TABLE tasks ADD CONSTRAINT tasks_planted_check CHECK (planted <> '');",
].join('\n');
