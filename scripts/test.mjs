import { prepare } from './prepare.mjs';

prepare();
process.argv.splice(2, 0, 'run');
await import('../node_modules/vitest/vitest.mjs');
