import type { IdKind } from '../../kernel/ids.js';

/** One thing that always holds. */
interface Invariant {
  /** Stable: operators' alarms name it. */
  readonly rule: string;
  /** What the examples of a breach are. */
  readonly about: Extract<IdKind, 'project' | 'event' | 'run' | 'task'>;
  /** In one sentence, for a reader who knows the words of the board. */
  readonly promise: string;
}

/**
 * What holds of every project at every moment, whatever was sent and however processes ended. The database repeats some of it as
 * CHECKs; they are asked again here, because a restored or repaired database may have lost them.
 */
export const INVARIANTS = [
  {
    rule: 'log_gapless',
    about: 'project',
    promise: 'The positions of the log are 1, 2, 3 … up to the position of the project.',
  },
  { rule: 'log_time', about: 'event', promise: 'Time never runs back in the log.' },
  {
    rule: 'event_numbers',
    about: 'task',
    promise: 'The events of a task are numbered 1, 2, 3 … up to its own number.',
  },
  {
    rule: 'event_order',
    about: 'task',
    promise: 'The events of a task stand in the log in the order of their numbers.',
  },
  { rule: 'task_rows', about: 'task', promise: 'Every task that the log or an attempt names is there.' },
  { rule: 'last_counters', about: 'task', promise: 'A task has the counters that its last event states.' },
  {
    rule: 'rework_total',
    about: 'task',
    promise:
      'A task was sent back as often as the log says, with what it carried over from the task it came from.',
  },
  {
    rule: 'error_total',
    about: 'task',
    promise:
      'A task has as many errors as the log counts, with what it carried over from the task it came from.',
  },
  {
    rule: 'trip_count',
    about: 'task',
    promise: 'A task was stopped by a limit as often as the log says, with what it carried over.',
  },
  {
    rule: 'unblock_count',
    about: 'task',
    promise: 'A task was unblocked after a trip as often as the log says, with what it carried over.',
  },
  { rule: 'counters_within_totals', about: 'task', promise: 'No counter of a task is above its total.' },
  {
    rule: 'attempt_claims',
    about: 'task',
    promise: 'A task has as many attempts as there are work claims in the log.',
  },
  {
    rule: 'attempt_rows',
    about: 'task',
    promise: 'The attempts of a task are kept, numbered 1, 2, 3 … without a gap.',
  },
  {
    rule: 'tokens',
    about: 'task',
    promise:
      'The tokens of a task, of each kind, are those reported in the log, on it and on what it replaced.',
  },
  {
    rule: 'tokens_used',
    about: 'task',
    promise: 'tokens_used is what was reported since it was last reset, with what it carried over.',
  },
  {
    rule: 'cost',
    about: 'task',
    promise: 'The cost of a task is what was reported in the log, on it and on what it replaced.',
  },
  {
    rule: 'lease_state',
    about: 'task',
    promise: 'A task has a lease only while it is worked on or reviewed.',
  },
  {
    rule: 'lease_tokens',
    about: 'task',
    promise: 'No two attempts of a task had the same lease token, and the latest is the one that holds.',
  },
  {
    rule: 'lease_end',
    about: 'task',
    promise: 'What has a lease, or waits for its time, is looked at when that comes.',
  },
  { rule: 'attempt_open', about: 'task', promise: 'Only the attempt under way is in progress.' },
  { rule: 'result_kept', about: 'task', promise: 'A task in review or done has a result.' },
  {
    rule: 'verdict_kept',
    about: 'task',
    promise: 'A task is done exactly when its last attempt was approved.',
  },
  {
    rule: 'approved_once',
    about: 'task',
    promise: 'A task that is done was approved once, and no other was.',
  },
  { rule: 'self_review', about: 'task', promise: 'Nobody judged a task that they had worked on.' },
  {
    rule: 'limit_trip',
    about: 'task',
    promise: 'A task blocked by a limit has exactly one open trip, and no other task has one.',
  },
  {
    rule: 'run_trip',
    about: 'run',
    promise: 'A run has exactly one open trip while it is tripped, and none otherwise.',
  },
  { rule: 'run_history', about: 'run', promise: 'A run was tripped and recovered as often as the log says.' },
  { rule: 'run_tasks', about: 'run', promise: 'A run knows how many of its tasks are in each state.' },
  {
    rule: 'run_iterations',
    about: 'run',
    promise: 'A run counts every start of work and every reported iteration since it last began at zero.',
  },
  {
    rule: 'run_usage',
    about: 'run',
    promise: 'The tokens and the cost of a run are those reported in it since they were last reset.',
  },
  {
    rule: 'unmet',
    about: 'task',
    promise: 'A task waits for as many tasks as it depends on and are not done.',
  },
  {
    rule: 'dependants',
    about: 'task',
    promise: 'Whoever waits for a task is known to it, and will start when it is done.',
  },
  {
    rule: 'given_up',
    about: 'task',
    promise: 'No task waits for one that was given up, unless it is blocked.',
  },
  {
    rule: 'queue',
    about: 'task',
    promise: 'What is offered can be claimed, and what can be claimed is offered.',
  },
] as const satisfies readonly Invariant[];

/** The code of an invariant. */
export type InvariantCode = (typeof INVARIANTS)[number]['rule'];

/** So many of the objects that break an invariant are named. */
export const EXAMPLES_MAX = 10;

/** An invariant that a project breaks. */
export interface Breach {
  readonly rule: InvariantCode;
  /** How many objects break it. */
  readonly broken: number;
  /** The first of them, as bare ids. */
  readonly examples: readonly string[];
}

/** A project held against every invariant, at one moment. */
export interface Checkup {
  /** Milliseconds since the epoch. */
  readonly checkedAt: number;
  /** The position of the last event that was in the log. */
  readonly position: number;
  readonly breaches: readonly Breach[];
}
