import type { Model, Timed } from './checker.js';
import { answered, meetsExpiry, perform } from './commands.js';
import { expired } from './limits.js';
import { type Agent, type Call, type Fields, NEW_TASK, type TaskState } from './task.js';

/** The specification of one task as an object: what each operation may answer, one after another. */

/** What one client sends. */
export interface Sent {
  readonly agent: Agent;
  readonly call: Call;
  /** Its Idempotency-Key. */
  readonly key: string | null;
  /** The version it insists on, by If-Match. */
  readonly version: number | null;
}

/** What came back: `ok`, or the code of a refusal. */
export interface Answer {
  readonly code: string;
  readonly fields: Fields | null;
  readonly replayed: boolean;
}

/** One operation of a history. Without an answer it may have taken effect, may yet, or never will. */
export interface Operation extends Timed {
  readonly id: string;
  readonly sent: Sent;
  readonly answer: Answer | null;
  /** Until when the lease lasts that the answer told of, on the clock of the history; null where it told of none. */
  readonly leaseUntil: number | null;
}

/** A task, and the answers that are kept for whoever sends the same command with the same key again. */
export interface ObjectState {
  readonly task: TaskState;
  readonly kept: ReadonlyMap<string, Answer>;
}

/** What an operation may lead to. */
export interface Possible {
  readonly state: ObjectState;
  readonly answer: Answer;
}

/** The object that every history begins with. */
export const NEW_OBJECT: ObjectState = { task: NEW_TASK, kept: new Map() };

/** Everything that may follow when an operation takes effect now, no later than `until`. */
export function possible(state: ObjectState, operation: Operation, until: number): Possible[] {
  const { agent, call, key, version } = operation.sent;
  const { task } = state;
  const name = key === null ? null : `${agent.id} ${call.type} ${key}`;
  const kept = name === null ? undefined : state.kept.get(name);
  if (kept !== undefined) return [{ state, answer: { ...kept, replayed: true } }];
  if (version !== null && version !== task.version)
    return [{ state, answer: { code: 'stale_version', fields: null, replayed: false } }];
  // Of a lease whose end was not told one only knows that it did not end before it was asked for.
  const lastsUntil = operation.leaseUntil ?? operation.invokedAt;
  const begins = meetsExpiry(task, call, agent) && mayRunOut(task, until) ? [task, expired(task)] : [task];
  return begins.map((begin) => {
    const done = perform(begin, call, { agent, lastsUntil });
    if (done.task === task)
      return { state, answer: { code: done.code, fields: answered(done), replayed: false } };
    const isNew = done.quiet !== true || begin !== task;
    const after = { ...done.task, version: task.version + (isNew ? 1 : 0) };
    const answer = { code: done.code, fields: answered({ ...done, task: after }), replayed: false };
    // Only an answer that stands for a change is kept; a refusal is judged anew.
    const keeps = name !== null && done.code === 'ok';
    return {
      state: { task: after, kept: keeps ? new Map([...state.kept, [name, answer]]) : state.kept },
      answer,
    };
  });
}

/** The lease's end, recorded by the server itself. */
export function runOut(state: ObjectState): ObjectState {
  const { task } = state;
  return { ...state, task: { ...expired(task), version: task.version + 1 } };
}

function mayRunOut({ lease }: TaskState, until: number): boolean {
  return lease !== null && lease.lastsUntil <= until;
}

/** The states that agree with what the operation was answered. */
export function agreeing(state: ObjectState, operation: Operation, until: number): ObjectState[] {
  const { answer } = operation;
  return possible(state, operation, until)
    .filter((one) => answer === null || isSame(one.answer, answer))
    .map((one) => one.state);
}

function isSame(a: Answer, b: Answer): boolean {
  return a.code === b.code && a.replayed === b.replayed && sameFields(a.fields, b.fields);
}

function sameFields(a: Fields | null, b: Fields | null): boolean {
  if (a === null || b === null) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** One task, used one operation at a time. */
export const TASK_MODEL: Model<ObjectState, Operation> = {
  start: NEW_OBJECT,
  step: agreeing,
  observes: ({ sent, answer }) =>
    answer !== null && (sent.call.type === 'read' || answer.code !== 'ok' || answer.replayed),
  drift: (state, until) => (mayRunOut(state.task, until) ? [runOut(state)] : []),
  key: ({ task, kept }) => JSON.stringify([task, ...kept]),
};
