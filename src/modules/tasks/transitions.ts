import type { Role } from '../../kernel/actor.js';
import type { CommandType, TaskState } from './types.js';

/** One row of the machine. */
export interface Transition {
  /** The states it may be sent in. Empty: there is no task yet. */
  readonly from: readonly TaskState[];
  /** The states it may lead to; `same` when it leaves the state alone. */
  readonly to: readonly (TaskState | 'same')[];
  /** Who may send it. `holder`: whoever holds the lease, whatever its role. `server`: nobody from outside. */
  readonly by: readonly (Role | 'holder' | 'server')[];
  /** It starts work: refused while any limit above it is open. */
  readonly starts: boolean;
  /** It carries a lease token, and a stale one changes nothing. */
  readonly fenced: boolean;
}

const OPEN = [
  'pending',
  'in_progress',
  'in_review',
  'rework',
  'blocked',
] as const satisfies readonly TaskState[];
const ANY = [...OPEN, 'done', 'cancelled'] as const satisfies readonly TaskState[];

/**
 * The whole machine. The diagram in the docs and the texts of the API are generated from it, and a test holds the
 * database's CHECKs against it. `blocked` among the targets of a command that ends work is a limit's doing.
 */
export const TRANSITIONS: Record<CommandType, Transition> = {
  create: { from: [], to: ['pending', 'blocked'], by: ['planner'], starts: false, fenced: false },
  update: { from: OPEN, to: ['same', 'blocked'], by: ['planner'], starts: false, fenced: false },
  claim_next: {
    from: ['pending', 'rework', 'in_review'],
    to: ['in_progress', 'same', 'blocked'],
    by: ['executor', 'reviewer'],
    starts: true,
    fenced: false,
  },
  claim: {
    from: ['pending', 'rework', 'in_review'],
    to: ['in_progress', 'same', 'blocked'],
    by: ['executor', 'reviewer'],
    starts: true,
    fenced: false,
  },
  heartbeat: {
    from: ['in_progress', 'in_review'],
    to: ['same', 'blocked'],
    by: ['holder'],
    starts: false,
    fenced: true,
  },
  report_usage: { from: ANY, to: ['same', 'blocked'], by: ['holder'], starts: false, fenced: false },
  submit: {
    from: ['in_progress'],
    to: ['in_review', 'blocked'],
    by: ['holder'],
    starts: false,
    fenced: true,
  },
  fail: {
    from: ['in_progress'],
    to: ['pending', 'rework', 'blocked'],
    by: ['holder'],
    starts: false,
    fenced: true,
  },
  release: {
    from: ['in_progress', 'in_review'],
    to: ['pending', 'rework', 'same', 'blocked'],
    by: ['holder'],
    starts: false,
    fenced: true,
  },
  expire: {
    from: ['in_progress', 'in_review'],
    to: ['pending', 'rework', 'same', 'blocked'],
    by: ['server'],
    starts: false,
    fenced: true,
  },
  wake: {
    from: ['pending', 'rework', 'blocked'],
    to: ['same', 'pending', 'rework'],
    by: ['server'],
    starts: false,
    fenced: false,
  },
  approve: { from: ['in_review'], to: ['done'], by: ['reviewer'], starts: false, fenced: false },
  rework: {
    from: ['in_review'],
    to: ['rework', 'same', 'blocked'],
    by: ['reviewer'],
    starts: false,
    fenced: false,
  },
  block: {
    from: ['pending', 'in_progress', 'in_review', 'rework'],
    to: ['blocked'],
    by: ['holder', 'planner'],
    starts: false,
    fenced: false,
  },
  unblock: {
    from: ['blocked'],
    to: ['pending', 'in_review', 'blocked'],
    by: ['planner'],
    starts: false,
    fenced: false,
  },
  split: { from: ['blocked'], to: ['pending'], by: ['planner'], starts: false, fenced: false },
  escalate: { from: ['blocked'], to: ['same'], by: ['planner'], starts: false, fenced: false },
  cancel: { from: OPEN, to: ['cancelled'], by: ['planner'], starts: false, fenced: false },
};

/** The commands that agents may send in a state, for whoever sent one that it does not allow. */
export function allowedCommands(state: TaskState): CommandType[] {
  return COMMAND_TYPES.filter((type) => {
    const { from, by } = TRANSITIONS[type];
    return from.includes(state) && !by.includes('server');
  });
}

/** Every command, in the order of the table. */
export const COMMAND_TYPES: readonly CommandType[] = [
  'create',
  'update',
  'claim_next',
  'claim',
  'heartbeat',
  'report_usage',
  'submit',
  'fail',
  'release',
  'expire',
  'wake',
  'approve',
  'rework',
  'block',
  'unblock',
  'split',
  'escalate',
  'cancel',
];
