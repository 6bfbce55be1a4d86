import { setTimeout as pause } from 'node:timers/promises';

const LOOK_MS = 10;
const PATIENCE_MS = 60_000;

/** Resolves when the condition holds: it is looked at again and again, because another process makes it true. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await pause(LOOK_MS))
    if (await holds()) return;
  throw new Error(`in ${PATIENCE_MS / 1000} s it did not come about that ${what}`);
}
