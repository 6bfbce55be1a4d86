import type { Actor } from '../../../kernel/actor.js';
import type { NewId } from '../../../kernel/ids.js';
import type { ServerLimits } from '../../guard/limits.js';
import type { Breaker, OwnLimits } from '../../guard/types.js';
import type { Policies } from '../../projects/types.js';
import type { Run } from '../../runs/types.js';
import type { AnyAttempt, ClaimPurpose, Task } from '../types.js';

/** An agent as decisions see it. */
export interface RosterAgent {
  readonly id: string;
  readonly name: string;
  readonly isExecutor: boolean;
  readonly isReviewer: boolean;
  /** Milliseconds since the epoch; null when never seen. */
  readonly lastSeenAt: number | null;
}

/** Which tasks a claim may take. */
export interface QueueFilter {
  readonly purpose: ClaimPurpose;
  readonly runId: string | null;
  /** Every label asked for must be on the task. */
  readonly labels: readonly string[];
  /** Who asks: what this agent may not have may be left out. */
  readonly agentId: string | null;
}

/**
 * The board as loaded: every row the command names or may touch, all of one revision. Reading what was not loaded is a
 * bug and throws.
 */
export interface View {
  task(id: string): Task | null;
  run(id: string): Run | null;
  defaultRun(): Run;
  /** The tasks that wait for this one. */
  dependants(taskId: string): readonly Task[];
  attempt(taskId: string, which: { readonly number: number } | { readonly token: number }): AnyAttempt | null;
  /** Open tasks that may be claimed now, in claim order. */
  queue(filter: QueueFilter): Iterable<Task>;
  /** The open task that holds a dedupe key. */
  dedupeHolder(key: string): Task | null;
  /** What a task waits for: its dependencies, or the task that supersedes it. */
  waitsFor(taskId: string): readonly string[];
  /** A breaker that has anything to remember; null for one that never opened. */
  breaker(id: string): Breaker | null;
  agent(id: string): RosterAgent | null;
  roster(): readonly RosterAgent[];
}

/** All that a decision may depend on. The same context and command always give the same decision. */
export interface Context {
  readonly view: View;
  /** The database's clock at the load, milliseconds since the epoch. */
  readonly now: number;
  readonly actor: Actor;
  readonly project: { readonly limits: OwnLimits };
  readonly server: ServerLimits;
  readonly policies: Policies;
  readonly newId: NewId;
}
