import { type Board, isFinal, type Run, type Task, type Trip, unmet } from './board.js';

/** Every row that the service has as well, a line each, in the words in which its rows are read. */
export function linesOf(board: Board): string {
  const breakers = Object.entries(board.breakers)
    .filter(([, { state }]) => state !== 'closed')
    .map(([id, { state, openings, probe }]) => {
      const probed = probe === null ? '-' : `${probe.task}#${probe.attempt}`;
      return `breaker ${id} ${state} openings=${openings} probe=${probed}`;
    });
  const tasks = board.tasks.map((task) => taskLine(board, task));
  return [...tasks, ...board.runs.map(runLine), ...breakers].sort().join('\n');
}

const hundreds = (ms: number): number => Math.floor(ms / 100_000);

/** A trip in the words of its row: kind, severity, state. */
export function tripLine(trip: Trip | null): string {
  if (trip === null) return '-';
  return `${trip.kind}/${trip.high ? 'HIGH' : 'MEDIUM'}/${trip.probing ? 'half_open' : 'open'}`;
}

function taskLine(board: Board, task: Task): string {
  const { lease } = task;
  const waits = task.state === 'pending' || task.state === 'rework' || task.state === 'in_review';
  return [
    task.id,
    task.state,
    `block=${task.block ?? '-'}`,
    `lease=${lease === null ? '-' : `${lease.kind}:${lease.agent}@${hundreds(lease.until)}`}`,
    `token=${task.token}`,
    `attempt=${task.tries.length}`,
    `reworks=${task.reworks}/${task.reworkTotal}`,
    `errors=${task.errors}/${task.errorTotal}`,
    `review_failures=${task.reviewFailures}`,
    `starts=${task.starts}`,
    `tokens=${task.tokens}`,
    `cost=${task.cost}`,
    `unblocks=${task.unblocks}`,
    `trips=${task.trips}`,
    `trip=${tripLine(task.trip)}`,
    `ready=${waits ? hundreds(task.ready) : '-'}`,
    `unmet=${isFinal(task) ? '-' : unmet(board, task).length}`,
    `run=${task.run}`,
    `superseded_by=${task.supersededBy ?? '-'}`,
  ].join(' ');
}

function runLine(run: Run): string {
  return [
    run.id,
    run.state,
    `iterations=${run.iterations}`,
    `tokens=${run.tokens}`,
    `cost=${run.cost}`,
    `recoveries=${run.recoveries}`,
    `trips=${run.trips}`,
    `trip=${tripLine(run.trip)}`,
  ].join(' ');
}
