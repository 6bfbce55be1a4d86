import { linearize } from './checker.js';
import { contradictionIn } from './log.js';
import type { History, Played } from './play.js';
import { explain, transcript } from './report.js';
import { type ObjectState, TASK_MODEL } from './specification.js';

/** What is wrong with a history. */
export interface Fault {
  /** The clients' answers have no order, or the log is not such an order. */
  readonly by: 'history' | 'log';
  readonly explanation: string;
}

/** Holds a history against the specification, and its log against both; null when all agree. */
export function judge({ taskId, operations, log }: History): Fault | null {
  const verdict = linearize<ObjectState, Played>(TASK_MODEL, operations);
  if (verdict.kind !== 'linearizable') return { by: 'history', explanation: explain(taskId, verdict) };
  const wrong = contradictionIn(log, operations);
  if (wrong === null) return null;
  return { by: 'log', explanation: `The log of ${taskId}: ${wrong}\n${transcript(operations)}` };
}
