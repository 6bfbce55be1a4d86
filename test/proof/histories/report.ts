import type { Verdict } from './checker.js';
import type { Played } from './play.js';
import type { ObjectState } from './specification.js';
import { possible } from './specification.js';

/** A history around its contradiction, for whoever has to find out why. */

const BEFORE = 12;

/** The end of what could be explained, the task then, and what could not come next. */
export function explain(taskId: string, verdict: Verdict<ObjectState, Played>): string {
  if (verdict.kind === 'linearizable') return `${taskId} is linearizable`;
  if (verdict.kind === 'undecided') return `${taskId}: undecided after ${verdict.steps} steps`;
  const { order, state, stuck } = verdict;
  const begin = Math.min(...[...order, ...stuck].map(({ invokedAt }) => invokedAt));
  const skipped = order.length > BEFORE ? [`  … ${order.length - BEFORE} operations before`] : [];
  return [
    `The history of ${taskId} has no order: ${order.length} operations can be explained, and none of the next ones then.`,
    ...skipped,
    ...order.slice(-BEFORE).map((operation) => `  ${line(operation, begin)}`),
    `Then the task is ${compact(state.task)}`,
    'and next would come one of',
    ...stuck.flatMap((operation) => [
      `  ${line(operation, begin)}`,
      ...possible(state, operation, operation.answeredAt ?? Number.POSITIVE_INFINITY).map(
        ({ answer }) => `      which would be answered ${answered(answer)}`,
      ),
    ]),
  ].join('\n');
}

/** A whole history, in the order in which its operations were sent. */
export function transcript(operations: readonly Played[]): string {
  const sorted = operations.toSorted((a, b) => a.invokedAt - b.invokedAt);
  const begin = sorted[0]?.invokedAt ?? 0;
  return sorted.map((operation) => line(operation, begin)).join('\n');
}

function line(operation: Played, begin: number): string {
  const { sent, who, process, answer, invokedAt, answeredAt } = operation;
  const { type, ...details } = sent.call;
  const from = (invokedAt - begin).toFixed(1);
  const to = answeredAt === null ? '…' : (answeredAt - begin).toFixed(1);
  const key = sent.key === null ? '' : ` key ${sent.key}`;
  const version = sent.version === null ? '' : ` if v${sent.version}`;
  const said = answer === null ? 'no answer' : answered(answer);
  return `[${from}–${to} ms] ${who} to ${process}: ${type} ${compact(details)}${key}${version} → ${said}`;
}

function answered({ code, fields, replayed }: NonNullable<Played['answer']>): string {
  return `${code}${replayed ? ' (replayed)' : ''}${fields === null ? '' : ` ${compact(fields)}`}`;
}

/** What of it says something: zeros, nothing and no are left out. */
function compact(value: object): string {
  const parts = Object.entries(value).filter(([, one]) => one !== null && one !== 0 && one !== false);
  return parts
    .map(([name, one]) => `${name}=${typeof one === 'object' ? JSON.stringify(one) : one}`)
    .join(' ');
}
