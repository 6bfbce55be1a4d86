import type { Role } from '../../../src/kernel/actor.js';

/** One task as the specification knows it, and what may be asked of it. Written from the domain's words, not from the service. */

/** Who sends a command. */
export interface Agent {
  readonly id: string;
  readonly roles: readonly Role[];
}

/** A command or a read, as far as it matters to one task. `tokens`: the usage it reports, 0 for none. */
export type Call =
  | { readonly type: 'read' }
  | { readonly type: 'claim'; readonly purpose: Purpose }
  | { readonly type: 'heartbeat'; readonly token: number; readonly tokens: number }
  | { readonly type: 'usage'; readonly token: number; readonly tokens: number }
  | { readonly type: 'submit'; readonly token: number; readonly tokens: number }
  | { readonly type: 'fail'; readonly token: number; readonly tokens: number; readonly counts: boolean }
  | { readonly type: 'release'; readonly token: number }
  | { readonly type: 'approve'; readonly attempt: number | null; readonly token: number | null }
  | {
      readonly type: 'rework';
      readonly attempt: number | null;
      readonly token: number | null;
      /** No verdict: only the review could not be done. */
      readonly broken: boolean;
    }
  | { readonly type: 'block' }
  | {
      readonly type: 'unblock';
      readonly to: 'pending' | 'in_review';
      readonly changes: boolean;
      readonly resetTokens: boolean;
    }
  | { readonly type: 'cancel' };

export type CallOf<T extends Call['type']> = Extract<Call, { readonly type: T }>;
export type Purpose = 'work' | 'review';
type Outcome = 'in_progress' | 'submitted' | 'failed' | 'released' | 'lease_expired' | 'stopped';

/** The limits that the histories give their tasks: low enough to be reached within one. */
export const LIMITS = { reworks: 2, errors: 2, tokens: 800, reviewFailures: 2, unblocks: 2 } as const;

/** How long every lease lasts. */
export const LEASE_SECONDS = 1;

/** A limit that stopped the task. */
export interface Trip {
  readonly kind: 'token' | 'error' | 'rework' | 'review';
  readonly grave: boolean;
  readonly value: number;
}

/** Everything about one task that an answer may depend on. */
export interface TaskState {
  readonly state: 'pending' | 'in_progress' | 'in_review' | 'rework' | 'blocked' | 'done' | 'cancelled';
  readonly blockKind: string | null;
  readonly blockedByOperator: boolean;
  readonly claimedBy: string | null;
  readonly lease: {
    readonly purpose: Purpose;
    readonly agentId: string;
    readonly token: number;
    /** It cannot have run out before, on the clock of whoever recorded the history. */
    readonly lastsUntil: number;
  } | null;
  readonly leaseToken: number;
  /** The last review that was begun, and whether the task was stopped under it. */
  readonly review: { readonly agentId: string; readonly token: number; readonly stopped: boolean } | null;
  /** Who worked on each attempt, with which token. */
  readonly attempts: readonly { readonly agentId: string; readonly token: number }[];
  /** Of the last attempt. */
  readonly outcome: Outcome | null;
  readonly hasResult: boolean;
  readonly judged: boolean;
  readonly reworks: number;
  readonly reworksEver: number;
  readonly errors: number;
  readonly errorsEver: number;
  readonly reviewFailures: number;
  readonly tokensUsed: number;
  readonly unblocks: number;
  readonly trips: number;
  readonly trip: Trip | null;
  readonly version: number;
}

/** A task that was just created. */
export const NEW_TASK: TaskState = {
  state: 'pending',
  blockKind: null,
  blockedByOperator: false,
  claimedBy: null,
  lease: null,
  leaseToken: 0,
  review: null,
  attempts: [],
  outcome: null,
  hasResult: false,
  judged: false,
  reworks: 0,
  reworksEver: 0,
  errors: 0,
  errorsEver: 0,
  reviewFailures: 0,
  tokensUsed: 0,
  unblocks: 0,
  trips: 0,
  trip: null,
  version: 1,
};

/** What an answer shows: of the task, and beside it the lease that was given or the word to its holder. */
export type Fields = Readonly<Record<string, string | number | boolean | null>>;

/** The task as every answer shows it. */
export function shown(task: TaskState): Fields {
  return {
    state: task.state,
    block: task.blockKind,
    claimed_by: task.claimedBy,
    attempt: task.attempts.length,
    rework_count: task.reworks,
    rework_total: task.reworksEver,
    error_count: task.errors,
    error_total: task.errorsEver,
    review_failures: task.reviewFailures,
    tokens_used: task.tokensUsed,
    unblock_count: task.unblocks,
    trip_count: task.trips,
    tripped: task.trip !== null,
    version: task.version,
  };
}

/** Whether an agent has worked on any attempt. */
export function hasWorked(task: TaskState, agentId: string): boolean {
  return task.attempts.some((attempt) => attempt.agentId === agentId);
}

/** Done or cancelled. */
export function isFinished({ state }: TaskState): boolean {
  return state === 'done' || state === 'cancelled';
}
