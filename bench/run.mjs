import { spawnSync } from 'node:child_process';
import { prepareAndBuild } from '../scripts/prepare.mjs';

prepareAndBuild();
// Compiled, and run by plain Node: what is measured must not pay for a loader.
const { status } = spawnSync(
  process.execPath,
  ['node_modules/typescript/bin/tsc', '-p', 'bench/tsconfig.json', '--noCheck'],
  { stdio: 'inherit' },
);
if (status !== 0) process.exit(status ?? 1);
await import('../dist/bench/bench/main.js');
