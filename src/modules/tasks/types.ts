import type { Json } from '../../kernel/json.js';
import type { Assessment, BreakerCommand, Layer, OwnTaskLimits, TaskCounters, Trip } from '../guard/types.js';
import type { RunCommand, RunStart } from '../runs/types.js';

export const TASK_STATES = [
  'pending',
  'in_progress',
  'in_review',
  'rework',
  'blocked',
  'done',
  'cancelled',
] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const TERMINAL_STATES = ['done', 'cancelled'] as const satisfies readonly TaskState[];

/** Why somebody may block a task by hand. A limit blocks with its layer's name instead. */
export const BLOCK_KINDS = ['needs_input', 'capability', 'dependency', 'other'] as const;
export type BlockKind = (typeof BLOCK_KINDS)[number] | Layer;

export const CLAIM_PURPOSES = ['work', 'review'] as const;
/** What a claim is for: doing the task, or judging its result. */
export type ClaimPurpose = (typeof CLAIM_PURPOSES)[number];

export const OUTCOMES = [
  'in_progress',
  'submitted',
  'failed',
  'released',
  'lease_expired',
  'stopped',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const ERROR_CLASSES = ['error', 'lease_expired', 'rate_limited', 'infrastructure', 'fatal'] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];
/** The classes an agent may report; an expiry is the server's to state. */
export const REPORTED_ERROR_CLASSES = [
  'error',
  'rate_limited',
  'infrastructure',
  'fatal',
] as const satisfies readonly ErrorClass[];

export const REWORK_CLASSES = ['defect', 'unmet_criterion', 'infrastructure'] as const;
export type ReworkClass = (typeof REWORK_CLASSES)[number];

export const PRIORITY_DEFAULT = 5;
export const LEASE_SECONDS_DEFAULT = 300;
export const LEASE_SECONDS_MAX = 86_400;
/** How long an executor that got a task back too often is passed over, from when the task became ready. */
export const REASSIGN_PATIENCE_SECONDS = 1_800;
/** How recently another executor must have been seen for a task to be kept for it. */
export const EXECUTOR_SEEN_SECONDS = 86_400;

/** Tokens by kind, as agents report them. */
export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** One usage report: an increment, not a total. */
export interface Usage {
  readonly tokens: Tokens;
  /** Millionths of a US dollar. */
  readonly costMicros: number;
  readonly iterations: number;
  /** The size of the agent's context window in use, when it says so. */
  readonly contextTokens: number | null;
}

/** The right that a claim gives, until `expiresAt`; it holds only with its token and its agent. Times in ms since the epoch. */
export interface Lease {
  readonly kind: ClaimPurpose;
  readonly agentId: string;
  readonly token: number;
  readonly seconds: number;
  readonly startedAt: number;
  readonly expiresAt: number;
}

/** One finding of a reviewer, tied to a criterion by its index when it names one. */
export interface Finding {
  readonly criterion: number | null;
  readonly detail: string;
}

/** The reviewer's word on one attempt. */
export interface Verdict {
  readonly attempt: number;
  readonly by: string;
  readonly at: number;
  readonly approved: boolean;
  readonly reason: string | null;
  readonly class: ReworkClass | null;
  readonly findings: readonly Finding[];
}

/** An agent's failure, as kept on the attempt. */
export interface AttemptError {
  readonly class: ErrorClass;
  readonly message: string;
  readonly fingerprint: string;
  readonly detail: Json;
}

/** What decisions need to know of the last attempt. */
export interface LastAttempt {
  readonly number: number;
  readonly agentId: string;
  readonly token: number;
  readonly outcome: Outcome;
  readonly hasResult: boolean;
  readonly judged: boolean;
  /** Why it failed, or the one before it that did: what a probe of the fleet looks for. */
  readonly failedWith: Pick<AttemptError, 'class' | 'fingerprint'> | null;
  readonly usage: Usage;
}

/** A review lease that was given. */
export interface LastReview {
  readonly token: number;
  readonly agentId: string;
  /** It ended because the task was stopped under its holder. */
  readonly stopped: boolean;
}

/** What only decisions read, kept beside the columns as one document. */
export interface TaskMemory {
  readonly last: LastAttempt | null;
  /** Every agent that worked on any attempt: none of them may judge it. */
  readonly workers: readonly string[];
  /** Agents that may not work on it. */
  readonly excluded: readonly string[];
  /** If set, only this agent may work on it. */
  readonly assigned: string | null;
  /** How often each executor had it sent back since the last unblock. */
  readonly sentBack: { readonly [agentId: string]: number };
  /** Layers already warned of. */
  readonly warned: readonly Layer[];
  /** `agent:code` pairs already logged as refused during the open trip. */
  readonly refused: readonly string[];
  /** The open trip. */
  readonly trip: Trip | null;
  /** The task was changed since its trip opened. */
  readonly changedSinceTrip: boolean;
  /** An operator blocked it by hand: only an operator lifts that. */
  readonly blockedByOperator: boolean;
  /** The trip it was cancelled under: whoever replaces the task answers for it, as an unblock would. */
  readonly cancelledUnder: Trip | null;
  /** Some attempt handed in a result: only the first is progress of the run. */
  readonly submitted: boolean;
  /** When an error trip recovers by itself, and how often it has since the last unblock. Milliseconds since the epoch. */
  readonly autoRecoverAt: number | null;
  readonly autoRecoveries: number;
  /** The last review lease, whatever became of it: its holder may still report what it used, and hear that it was stopped. */
  readonly lastReview: LastReview | null;
  /** Agents that reported `fatal` on it since the last unblock. */
  readonly fatalBy: readonly string[];
}

/** The counters of a task, tokens by kind beside the sum that the guard reads. */
export interface Counters extends TaskCounters {
  readonly tokens: Tokens;
  readonly unblockCount: number;
  readonly tripCount: number;
}

/** A task as decisions see it: one row. Times in milliseconds since the epoch, ids bare UUIDs. */
export interface Task {
  readonly id: string;
  readonly projectId: string;
  readonly runId: string;
  readonly parentId: string | null;
  readonly supersedes: string | null;
  readonly supersededBy: string | null;
  readonly dedupeKey: string | null;
  readonly title: string;
  readonly description: string;
  readonly acceptance: readonly string[];
  readonly priority: number;
  readonly labels: readonly string[];
  readonly dependsOn: readonly string[];
  readonly unmet: number;
  readonly hasDependants: boolean;
  readonly limits: OwnTaskLimits;
  readonly notBefore: number | null;
  readonly state: TaskState;
  /** Since when it can be claimed. */
  readonly readyAt: number;
  readonly block: { readonly kind: BlockKind; readonly reason: string } | null;
  readonly claimedBy: string | null;
  readonly lease: Lease | null;
  /** The last lease token given out. */
  readonly leaseToken: number;
  readonly attempt: number;
  readonly counters: Counters;
  readonly eventNumber: number;
  readonly memory: TaskMemory;
  readonly feedback: Verdict | null;
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
}

/** One try at a task, as a row. Kept for ever. */
export interface Attempt {
  readonly taskId: string;
  readonly number: number;
  readonly agentId: string;
  readonly leaseToken: number;
  readonly sessionId: string | null;
  readonly claimedAt: number;
  readonly endedAt: number | null;
  readonly outcome: Outcome;
  readonly result: Json;
  readonly resultHash: string | null;
  readonly lateResult: Json;
  readonly error: AttemptError | null;
  readonly usage: Usage;
  readonly change: Change | null;
  readonly verdict: Verdict | null;
}

/** What decisions read of an attempt that need not be its task's last. */
export type AnyAttempt = Pick<
  Attempt,
  'taskId' | 'number' | 'agentId' | 'leaseToken' | 'outcome' | 'usage' | 'lateResult'
>;

/** How much an attempt changed, for the complexity of a session's last task. */
export interface Change {
  readonly lines: number;
  readonly files: number;
  readonly architecture: boolean;
  readonly dependency: boolean;
  readonly external: boolean;
}

interface OnTask {
  readonly taskId: string;
  /** From If-Match: refused when the task has moved on. */
  readonly version?: number;
  readonly expectedState?: TaskState;
}

/** A new task. A plan's refs are ids by now. */
export interface NewTask {
  readonly id: string;
  readonly runId: string | null;
  readonly parentId: string | null;
  readonly title: string;
  readonly description: string;
  readonly acceptance: readonly string[];
  readonly priority: number;
  readonly labels: readonly string[];
  readonly dependsOn: readonly string[];
  readonly limits: OwnTaskLimits;
  readonly notBefore: number | null;
  readonly dedupeKey: string | null;
  readonly supersedes: string | null;
}

/** What a planner may change of a task. Absent: unchanged. */
export interface TaskEdit {
  readonly title?: string;
  readonly description?: string;
  readonly acceptance?: readonly string[];
  readonly priority?: number;
  readonly labels?: readonly string[];
  readonly dependsOn?: readonly string[];
  readonly notBefore?: number | null;
  readonly limits?: OwnTaskLimits;
}

/** What an unblock may change beside lifting the block. */
export interface UnblockChanges {
  readonly description?: string;
  readonly acceptance?: readonly string[];
  readonly limits?: OwnTaskLimits;
  readonly dependsOn?: readonly string[];
  readonly excludedAgentId?: string;
  readonly assignedAgentId?: string;
}

interface ClaimTerms {
  readonly leaseSeconds: number;
  /** The agent's session in which the work is done; kept on the attempt. */
  readonly sessionId: string | null;
}

/** Everything that can be asked of the board. `type` is the command's name in the machine's table. */
export type Command =
  | {
      readonly type: 'create';
      readonly tasks: readonly NewTask[];
      readonly run: RunStart | null;
      readonly plan: boolean;
    }
  | ({ readonly type: 'update'; readonly edit: TaskEdit } & OnTask)
  | ({
      readonly type: 'claim_next';
      readonly purpose: ClaimPurpose;
      readonly labels: readonly string[];
      readonly runId: string | null;
      readonly max: number;
    } & ClaimTerms)
  | ({ readonly type: 'claim'; readonly purpose: ClaimPurpose | null } & OnTask & ClaimTerms)
  | ({ readonly type: 'heartbeat'; readonly leaseToken: number; readonly usage: Usage | null } & OnTask)
  | ({
      readonly type: 'report_usage';
      readonly leaseToken: number | null;
      readonly attempt: number | null;
      readonly usage: Usage;
    } & OnTask)
  | ({
      readonly type: 'submit';
      readonly leaseToken: number;
      readonly result: Json;
      readonly resultHash: string;
      readonly usage: Usage | null;
      readonly change: Change | null;
    } & OnTask)
  | ({
      readonly type: 'fail';
      readonly leaseToken: number;
      readonly error: {
        readonly class: (typeof REPORTED_ERROR_CLASSES)[number];
        readonly message: string;
        readonly detail: Json;
      };
      readonly retryAfterSeconds: number | null;
      readonly usage: Usage | null;
    } & OnTask)
  | ({ readonly type: 'release'; readonly leaseToken: number; readonly reason: string | null } & OnTask)
  | ({ readonly type: 'expire'; readonly leaseToken: number } & OnTask)
  | ({ readonly type: 'wake' } & OnTask)
  | ({
      readonly type: 'approve';
      readonly attempt: number | null;
      readonly leaseToken: number | null;
      readonly note: string | null;
    } & OnTask)
  | ({
      readonly type: 'rework';
      readonly attempt: number | null;
      readonly leaseToken: number | null;
      readonly reason: string;
      readonly class: ReworkClass;
      readonly findings: readonly Finding[];
    } & OnTask)
  | ({
      readonly type: 'block';
      readonly kind: (typeof BLOCK_KINDS)[number];
      readonly reason: string;
    } & OnTask)
  | ({
      readonly type: 'unblock';
      readonly reason: string;
      readonly assessment: Assessment | null;
      readonly changes: UnblockChanges;
      readonly resetTokens: boolean;
      readonly to: 'pending' | 'in_review';
    } & OnTask)
  | ({
      readonly type: 'split';
      readonly reason: string;
      readonly assessment: Assessment | null;
      readonly changes: UnblockChanges;
      readonly resetTokens: boolean;
      /** The parts; their parent and run are the task's. */
      readonly tasks: readonly NewTask[];
    } & OnTask)
  | ({ readonly type: 'escalate'; readonly reason: string } & OnTask)
  | ({ readonly type: 'cancel'; readonly reason: string } & OnTask);

/** Everything that goes through the pipeline. */
export type AnyCommand = Command | RunCommand | BreakerCommand;

export type CommandType = Command['type'];
export type CommandOf<T extends CommandType> = Extract<Command, { type: T }>;
