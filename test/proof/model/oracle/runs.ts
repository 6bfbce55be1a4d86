import type { RunCommand, RunCommandOf } from '../../../../src/modules/runs/types.js';
import { DEFAULT_RUN, type Person } from '../cast.js';
import { type Board, budgetOf, newRun, type Run, refuse, runOf } from './board.js';
import { over, readRun, settleRun } from './guard.js';

/** What may be done with a run. It is recovered by the same form and the same rules as a task is unblocked. */
export function decideRun(board: Board, who: Person, command: RunCommand): void {
  const byOperator = who.roles.includes('operator');
  if (command.type === 'create_run') {
    const { id, limits, iterationMode, deadlineAt: deadline } = command.run;
    const asUsual = budgetOf(board, newRun(id)).maxUnblocks;
    if (!byOperator && (limits.maxUnblocks ?? 0) > asUsual) refuse('forbidden_role');
    board.runs.push(newRun(id, { limits, total: iterationMode === 'total', deadline, startedAt: board.now }));
    return;
  }
  const run = runOf(board, command.runId);
  if (run.state === 'closed') refuse('run_closed');
  if (command.type === 'close_run') close(run);
  else if (command.type === 'recover_run') recover(board, run, command, byOperator);
  else {
    if (!byOperator && command.edit.limits?.maxUnblocks !== undefined) refuse('forbidden_role');
    if (edit(run, command.edit) && run.trip !== null) run.changedSinceTrip = true;
    settleRun(board, run);
  }
}

function recover(board: Board, run: Run, command: RunCommandOf<'recover_run'>, byOperator: boolean): void {
  if (run.state !== 'tripped' || run.trip === null) refuse('invalid_transition');
  const isUsedUp = run.recoveries >= budgetOf(board, run).maxUnblocks;
  if (!byOperator && command.changes.limits?.maxUnblocks !== undefined) refuse('forbidden_role');
  if (!byOperator && (run.trip.high || isUsedUp)) refuse('escalation_required');
  if (command.strategy === 'terminate') {
    close(run);
    return;
  }
  const isChanged = edit(run, command.changes) || run.changedSinceTrip;
  if (!byOperator && run.recoveries > 0 && !isChanged) refuse('nothing_changed');
  run.iterations = 0;
  if (command.resetTokens) Object.assign(run, { tokens: 0, cost: 0 });
  run.state = 'open';
  run.trip = null;
  run.changedSinceTrip = false;
  run.recoveries += 1;
  if (over(readRun(board, run)).length > 0) refuse('still_over_limit');
}

function close(run: Run): void {
  if (run.id === DEFAULT_RUN) refuse('invalid_transition');
  run.state = 'closed';
  run.trip = null;
}

function edit(
  run: Run,
  { limits, deadlineAt }: Pick<Partial<Run>, 'limits'> & { deadlineAt?: number | null },
): boolean {
  const before = JSON.stringify([run.limits, run.deadline]);
  run.limits = { ...run.limits, ...limits };
  if (deadlineAt !== undefined) run.deadline = deadlineAt;
  return before !== JSON.stringify([run.limits, run.deadline]);
}
