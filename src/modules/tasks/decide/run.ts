import type { Task } from '../types.js';
import type { Draft } from './draft.js';

/**
 * An approval, or a task's first submission, is progress: a run that counts since progress starts again at zero. Not once it
 * has tripped: then only a recovery does.
 */
export function progress(draft: Draft, task: Task): void {
  const run = draft.runOf(task);
  if (run.iterationMode === 'since_progress' && run.state === 'open' && run.iterations > 0) {
    draft.countOnRun({ ...run, iterations: 0 });
  }
}
