import {
  type CommandOf,
  EXECUTOR_SEEN_SECONDS,
  REASSIGN_PATIENCE_SECONDS,
} from '../../../../src/modules/tasks/types.js';
import { EXECUTORS, type Person } from '../cast.js';
import {
  type Board,
  isFinal,
  type Lease,
  limitsOf,
  Refused,
  refuse,
  runOf,
  type Task,
  taskOf,
  unmet,
} from './board.js';
import { beginProbes, failedAlike, pass } from './breakers.js';
import { over, readRun, readTask, settle, settleRun, trip } from './guard.js';
import { expire, hasRunOut } from './work.js';

/** Why this agent may not start on it now. */
function forbidStart(board: Board, task: Task, agent: string, purpose: Lease['kind']): void {
  if (purpose === 'review') {
    if (task.workers.includes(agent)) refuse('self_review');
    if (task.state === 'blocked') refuse('task_blocked');
    if (task.state !== 'in_review') refuse('invalid_transition');
    if (task.lease !== null) refuse('already_claimed');
    return;
  }
  if (task.state === 'blocked') refuse('task_blocked');
  if (task.state === 'in_progress') refuse('already_claimed');
  if (isFinal(task) || task.state === 'in_review') refuse('invalid_transition');
  forbidInRun(board, task.run);
  if (unmet(board, task).length > 0) refuse('dependency_unmet');
  if (task.excluded.includes(agent) || (task.assigned !== null && task.assigned !== agent))
    refuse('excluded_agent');
  if (task.ready > board.now) refuse('not_yet_due');
}

function forbidInRun(board: Board, id: string): void {
  const { state } = runOf(board, id);
  if (state === 'tripped') refuse('run_tripped');
  if (state === 'closed') refuse('run_closed');
}

/** A limit that is over although nobody has crossed it: lowered from above, or a deadline that has passed. */
function forbidOverLimit(board: Board, task: Task): void {
  const run = runOf(board, task.run);
  if (over(readRun(board, run)).length > 0) {
    settleRun(board, run);
    refuse('run_tripped');
  }
  const [layer] = over(readTask(board, task));
  if (layer === undefined) return;
  trip(board, task, layer);
  refuse('task_blocked');
}

export interface Claim {
  readonly id: string;
  readonly token: number;
  readonly attempt: number;
}
const claimOf = (task: Task): Claim => ({
  id: task.id,
  token: task.lease?.token ?? 0,
  attempt: task.tries.length,
});

function start(board: Board, task: Task, agent: string, kind: Lease['kind'], seconds: number): Claim {
  const until = board.now + Math.min(seconds, limitsOf(board, task).maxAttemptSeconds) * 1000;
  task.token += 1;
  task.lease = { kind, agent, token: task.token, seconds, from: board.now, until };
  if (kind === 'review') return claimOf(task);
  task.state = 'in_progress';
  task.starts += 1;
  if (!task.workers.includes(agent)) task.workers.push(agent);
  task.tries.push({ agent, token: task.token, outcome: 'in_progress', hasResult: false, judged: false });
  runOf(board, task.run).iterations += 1;
  const claim = claimOf(task);
  settle(board, task);
  return claim;
}

/** With several roles it is work unless review is asked for: also by naming a task that is in review. */
function usualPurpose({ roles }: Person, { state }: Task): Lease['kind'] {
  if (!roles.includes('executor')) return 'review';
  return roles.includes('reviewer') && state === 'in_review' ? 'review' : 'work';
}

/** A claim by id is deliberate: only what forbids it is said. */
export function claim(board: Board, who: Person, command: CommandOf<'claim'>): Claim[] {
  const task = taskOf(board, command.taskId);
  const purpose = command.purpose ?? usualPurpose(who, task);
  if (purpose === 'review' && task.workers.includes(who.id)) refuse('self_review');
  if (hasRunOut(board, task)) expire(board, task);
  else if (task.lease?.kind === purpose) {
    if (task.lease.agent !== who.id) refuse('already_claimed');
    return [claimOf(task)];
  }
  forbidStart(board, task, who.id, purpose);
  if (purpose === 'review') return [start(board, task, who.id, purpose, command.leaseSeconds)];
  const probes = pass(board, who.id);
  if (probes.fleet && !failedAlike(board, task)) refuse('fleet_breaker_open');
  forbidOverLimit(board, task);
  const given = start(board, task, who.id, purpose, command.leaseSeconds);
  beginProbes(board, task, who.id, probes);
  return [given];
}

/** Priority, then what was sent back, then the oldest ready. */
export function inClaimOrder(a: Task, b: Task): number {
  const behind = ({ state }: Task) => (state === 'pending' ? 1 : 0);
  return a.priority - b.priority || behind(a) - behind(b) || a.ready - b.ready || (a.id < b.id ? -1 : 1);
}

/** Change of hands: it is left for another executor who is about, for half an hour. */
function isLeftForAnother(board: Board, task: Task, agent: string): boolean {
  const isAbout = (id: string) => board.now - (board.seen[id] ?? 0) < EXECUTOR_SEEN_SECONDS * 1000;
  return (
    (task.sentBack[agent] ?? 0) >= limitsOf(board, task).reassignAfter &&
    board.now - task.ready < REASSIGN_PATIENCE_SECONDS * 1000 &&
    EXECUTORS.some(({ id }) => id !== agent && !task.excluded.includes(id) && isAbout(id))
  );
}

/** Claim-next passes over what it may not have; only a run that is named is told about. */
export function claimNext(board: Board, who: Person, command: CommandOf<'claim_next'>): Claim[] {
  const { purpose, runId, labels, max, leaseSeconds } = command;
  if (runId !== null) {
    const run = runOf(board, runId);
    if (purpose === 'work') settleRun(board, run);
    if (purpose === 'work') forbidInRun(board, runId);
    else if (run.state === 'closed') refuse('run_closed');
  }
  if (labels.length > 0) throw new Error('no task of the model has labels');
  const probes = purpose === 'work' ? pass(board, who.id) : { fleet: false, own: false };
  const most = probes.fleet || probes.own ? 1 : max;
  const queue = board.tasks
    .filter((task) => (runId === null || task.run === runId) && runOf(board, task.run).state !== 'closed')
    .sort(inClaimOrder);
  const take = (wanted: (task: Task) => boolean): Claim[] => {
    const claims: Claim[] = [];
    for (const task of queue) {
      if (claims.length === most || !wanted(task) || isHeld(task)) continue;
      if (!isGiven(() => forbidStart(board, task, who.id, purpose))) continue;
      if (purpose === 'work') {
        if (isLeftForAnother(board, task, who.id) || !isGiven(() => forbidOverLimit(board, task))) continue;
      }
      claims.push(start(board, task, who.id, purpose, leaseSeconds));
      beginProbes(board, task, who.id, probes);
    }
    return claims;
  };
  const isHeld = ({ lease }: Task) => lease !== null;
  const likely = probes.fleet ? take((task) => failedAlike(board, task)) : [];
  return likely.length > 0 ? likely : take(() => true);
}

function isGiven(ask: () => void): boolean {
  try {
    ask();
    return true;
  } catch (no) {
    if (no instanceof Refused) return false;
    throw no;
  }
}
