import { isDatabaseUnavailable } from '../../db/faults.js';
import type { Queryable } from '../../db/statement.js';
import { eventIdAt } from './store.js';
import type { CommitMark } from './types.js';

/** How long, and how often, a lost answer is asked for while the database comes back. */
const LOST_ANSWER_MS = 3_000;
const ASK_EVERY_MS = 50;

/**
 * Whether a commit whose answer was lost was made after all: its first event stands in the log, or does not. Where the
 * database stays away that cannot be known, and the error that says so is thrown.
 */
export async function committed(db: Queryable, mark: CommitMark): Promise<boolean> {
  const until = performance.now() + LOST_ANSWER_MS;
  for (;;) {
    try {
      const found = await eventIdAt(db, mark.projectId, mark.position);
      return found !== null && found === mark.eventId;
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
  }
}
