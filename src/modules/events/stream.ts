import type { CommittedEvent } from './types.js';
import { eventToWire } from './wire.js';

/** What a stream asks and does beside its events. */
export interface StreamHooks {
  /** Whether the key that opened the stream is still in force. */
  readonly isWelcome: () => Promise<boolean>;
  /** Ends the connection at once. */
  readonly hangUp: () => void;
}

/** A stream gives nothing when its key was last found in force longer ago than this: then it asks first. */
const ASK_EVERY_MS = 1_000;
/** How often a stream must be given a batch, even an empty one. With the time above, so long a revoked key's line may stay open. */
export const LOOK_UP_MS = 3_000;
/** Silence is broken by a comment, so that nobody on the way takes the line for dead. */
const PULSE_MS = 15_000;
/** A client that takes nothing for so long is hung up on. */
const PATIENCE_MS = 30_000;
/** How long a client should wait before it comes back. */
const RETRY_MS = 1_000;

/** Batches of events as messages of `text/event-stream`. */
export async function* messagesOf(
  batches: AsyncIterable<readonly CommittedEvent[]>,
  hooks: StreamHooks,
): AsyncGenerator<string, void, undefined> {
  yield `retry: ${RETRY_MS}\n\n`;
  let spokeAt = performance.now();
  let askedAt = spokeAt;
  for await (const batch of batches) {
    if (performance.now() - askedAt >= ASK_EVERY_MS) {
      if (!(await hooks.isWelcome())) return;
      askedAt = performance.now();
    }
    // Pulses come a little early or late; one that is due at the next look would come too late.
    if (batch.length === 0 && performance.now() - spokeAt < PULSE_MS - LOOK_UP_MS) continue;
    const impatience = setTimeout(hooks.hangUp, PATIENCE_MS);
    try {
      yield batch.length === 0 ? ': still here\n\n' : batch.map(messageOf).join('');
    } finally {
      clearTimeout(impatience);
    }
    spokeAt = performance.now();
  }
}

function messageOf(event: CommittedEvent): string {
  return `id: ${event.position}\nevent: ${event.event.type}\ndata: ${JSON.stringify(eventToWire(event))}\n\n`;
}
