import { ID_PREFIXES } from '../../src/kernel/ids.js';
import { INVARIANTS } from '../../src/modules/health/types.js';
import { code, table } from './marks.js';

/** Every invariant: its code, what it promises, and what its examples are. */
export function invariantTable(): string {
  return table(
    ['rule', 'what holds', 'examples'],
    INVARIANTS.map(({ rule, promise, about }) => [code(rule), promise, code(`${ID_PREFIXES[about]}_…`)]),
  );
}
