import type { LogEntry } from './crew.js';
import { agreeing, NEW_OBJECT, type ObjectState, type Operation, runOut } from './specification.js';
import type { Call } from './task.js';

/** Whether the log of a task tells the same story as the clients: one order of whole commands, and none of them missing. */

/** The event that a command leaves when it was done, and no other command does. */
const OWN_EVENTS: Readonly<Record<Call['type'], readonly string[]>> = {
  read: [],
  claim: ['task.claimed', 'task.review_claimed'],
  heartbeat: ['task.usage_reported'],
  usage: ['task.usage_reported'],
  submit: ['task.submitted', 'task.late_result'],
  fail: ['task.failed', 'task.late_result'],
  release: ['task.released', 'task.review_released'],
  approve: ['task.approved'],
  rework: ['task.rework_requested', 'task.review_failed'],
  block: ['task.blocked'],
  unblock: ['task.unblocked'],
  cancel: ['task.cancelled'],
};
/** What the server records by itself. */
const EXPIRIES: readonly string[] = ['task.lease_expired', 'task.review_expired'];

/** What is wrong between a history and its log, in words; null when nothing is. */
export function contradictionIn(log: readonly LogEntry[], history: readonly Operation[]): string | null {
  return gapIn(log) ?? missingIn(log, history) ?? disorderIn(log, history);
}

function gapIn(log: readonly LogEntry[]): string | null {
  const at = log.findIndex(({ number }, index) => number !== index + 1);
  return at === -1 ? null : `event ${at + 1} of the task has the number ${log[at]?.number}`;
}

/** Every command that was acknowledged has exactly one event of its own, and what was refused or only replayed has none. */
function missingIn(log: readonly LogEntry[], history: readonly Operation[]): string | null {
  for (const operation of history) {
    const { call } = operation.sent;
    const own = log.filter(
      ({ requestId, type }) => requestId === operation.id && OWN_EVENTS[call.type].includes(type),
    );
    const [least, most] = expectedOf(operation);
    if (own.length < least || own.length > most)
      return `${call.type} ${operation.id} left ${own.length} events of its own in the log, not ${least === most ? least : `${least} or ${most}`}`;
  }
  return null;
}

function expectedOf({ answer, sent: { call } }: Operation): readonly [least: number, most: number] {
  if (answer === null) return [0, 1];
  if (answer.replayed) return [0, 0];
  // What came too late is refused, and kept as evidence the first time.
  if (answer.code !== 'ok') return call.type === 'submit' || call.type === 'fail' ? [0, 1] : [0, 0];
  // A claim repeated by its holder, and a heartbeat that reports nothing or to nobody, leave no event.
  if (call.type === 'claim') return [0, 1];
  if (call.type === 'heartbeat') return call.tokens === 0 ? [0, 0] : [1, 1];
  return call.type === 'read' ? [0, 0] : [1, 1];
}

/** The operations of the log, done one by one in its order, keep the times of their clients and are answered as they were. */
function disorderIn(log: readonly LogEntry[], history: readonly Operation[]): string | null {
  const byId = new Map(history.map((operation) => [operation.id, operation]));
  const done = new Set<string>();
  let states: readonly ObjectState[] = [NEW_OBJECT];
  let begun = Number.NEGATIVE_INFINITY;
  /** What the task may be when it is read last: commands that had no answer, and the server, may have come before or after. */
  let ends: readonly ObjectState[] = states;
  for (const { number, type, requestId } of log.slice(1)) {
    const operation = byId.get(requestId);
    if (operation === undefined) {
      if (EXPIRIES.includes(type)) states = states.filter(({ task }) => task.lease !== null).map(runOut);
      else if (!requestId.startsWith('server-'))
        return `event ${number}, ${type}, is of a request that nobody sent`;
    } else if (!done.has(requestId)) {
      done.add(requestId);
      if (answeredAt(operation) < begun)
        return `event ${number}, ${type}, stands after one of a command that was sent only when this one had been answered`;
      begun = Math.max(begun, operation.invokedAt);
      states = states.flatMap((state) => agreeing(state, operation, Number.POSITIVE_INFINITY));
    }
    if (states.length === 0)
      return `event ${number}, ${type}, cannot follow the ones before it with the answer that its command had`;
    ends = operation === undefined || operation.answer === null ? [...ends, ...states] : states;
  }
  const last = history.at(-1);
  const agrees = (state: ObjectState): boolean =>
    last === undefined || agreeing(state, last, Number.POSITIVE_INFINITY).length > 0;
  return ends.some(agrees) ? null : 'what was read last is not what the events come to';
}

function answeredAt(operation: Operation): number {
  return operation.answeredAt ?? Number.POSITIVE_INFINITY;
}
