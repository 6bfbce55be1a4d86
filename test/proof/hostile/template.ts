import type { Operation } from './contract.js';

/** What of the board a request may name. */
export type RefKind =
  | 'project'
  | 'task'
  | 'run'
  | 'agent'
  | 'trip'
  | 'breaker'
  | 'session'
  | 'key'
  | 'lease'
  | 'attempt'
  | 'state'
  | 'etag'
  | 'cursor';

/** Stands for something of the board, found when the request is sent: the same draw fits a board that has moved on. */
export class Ref {
  constructor(
    readonly kind: RefKind,
    readonly pick: number,
    /** Ours, of the other project, or of nobody. */
    readonly whose: 'own' | 'other' | 'nobody' = 'own',
  ) {}
}

/** The three kinds of requests. */
export const KINDS = ['valid', 'almost valid', 'wild'] as const;
export type Kind = (typeof KINDS)[number];

/** Who sends it: an agent that may, any of the callers, or one whose key opens nothing. */
export interface Sender {
  readonly who: 'apt' | 'any' | 'shut out';
  readonly pick: number;
}

/** A request before the board is asked: what it names are `Ref`s. */
export interface Template {
  readonly operation: Operation;
  readonly sender: Sender;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: readonly (readonly [string, unknown])[];
  readonly headers: readonly (readonly [string, unknown])[];
  /** Undefined for none. */
  readonly body: unknown;
  /** What was made wrong with it. */
  readonly wrong: string | null;
}

/** Whether a value is an object with fields, and no list or `Ref`. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Ref);
}
