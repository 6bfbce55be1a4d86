/** Replays the night of the sixteen reworks against a service; `npm run demo -- --help` says how. */
import { fileURLToPath } from 'node:url';
import { runDemo } from '../src/cli/demo/main.js';

const stop = new AbortController();
// Each as often as it comes: npm passes on what the terminal has sent already.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
// Whoever looked on has left, as with `| head`.
process.stdout.on('error', () => stop.abort());

process.exitCode = await runDemo({
  args: process.argv.slice(2),
  env: process.env,
  output: process.stdout,
  startScript: fileURLToPath(new URL('./start.mjs', import.meta.url)),
  signal: stop.signal,
});
