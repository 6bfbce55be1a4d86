import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// Imported in the process of a service whose memory is measured: asked by its parent, it collects garbage and says what is left.

/** What a process holds, in bytes. */
export interface Held {
  /** Of its heap, after everything that nothing refers to has gone. */
  readonly heap: number;
  /** Of the machine's memory, before that. */
  readonly resident: number;
}

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

process.on('message', () => {
  const resident = process.memoryUsage.rss();
  collect();
  const held: Held = { heap: process.memoryUsage().heapUsed, resident };
  process.send?.(held);
});
