import type { Role } from '../../kernel/actor.js';
import type { RunCommandType, RunState } from './types.js';

/** One row of the run's machine. */
export interface RunTransition {
  /** The states it may be sent in. Empty: there is no run yet. */
  readonly from: readonly RunState[];
  readonly to: readonly RunState[];
  readonly by: readonly Role[];
}

/** What may be done with a run. `tripped` is a limit's doing, never a command's. */
export const RUN_TRANSITIONS: Record<RunCommandType, RunTransition> = {
  create_run: { from: [], to: ['open'], by: ['planner'] },
  update_run: { from: ['open', 'tripped'], to: ['open', 'tripped'], by: ['planner'] },
  recover_run: { from: ['tripped'], to: ['open', 'closed', 'tripped'], by: ['planner'] },
  close_run: { from: ['open', 'tripped'], to: ['closed'], by: ['planner'] },
};

/** Every command on a run, in the order of the table. */
export const RUN_COMMAND_TYPES: readonly RunCommandType[] = [
  'create_run',
  'update_run',
  'recover_run',
  'close_run',
];
