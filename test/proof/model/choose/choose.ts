import { EXECUTORS, type Name, taskId } from '../cast.js';
import type { Move, What } from '../moves.js';
import { isFinal, last, type Task, unmet } from '../oracle/board.js';
import type { Model } from '../oracle/model.js';
import { pass, restart, type Step, sweep } from '../step.js';
import { onTask } from './on-task.js';
import { among, at, NAMES, Scene, STEP_SECONDS } from './scene.js';
import { withoutTask } from './without-task.js';

const PASSES = [1, 1, 1, 2, 2, 4, 9, 180];
const OPEN_TASKS_MAX = 5;

type Fits = (task: Task) => boolean;
const isWorkedOn: Fits = ({ lease }) => lease?.kind === 'work';
const isInReview: Fits = ({ state }) => state === 'in_review';
const isBlocked: Fits = ({ state }) => state === 'blocked';
const isHeld: Fits = (task) => task.lease !== null || last(task)?.outcome === 'stopped';

/** What a move needs to be there, and what is done instead where it is not. */
const FIT: Partial<Record<What, { readonly fits: Fits; readonly instead: What }>> = {
  submit: { fits: isWorkedOn, instead: 'claim' },
  fail: { fits: isWorkedOn, instead: 'claim' },
  release: { fits: ({ lease }) => lease !== null, instead: 'claim' },
  heartbeat: { fits: isHeld, instead: 'claim' },
  report_usage: { fits: ({ tries }) => tries.length > 0, instead: 'claim' },
  rework: { fits: isInReview, instead: 'submit' },
  approve: { fits: isInReview, instead: 'submit' },
  review: { fits: isInReview, instead: 'submit' },
  review_fails: { fits: isInReview, instead: 'submit' },
  unblock: { fits: isBlocked, instead: 'rework' },
  split: { fits: isBlocked, instead: 'rework' },
  escalate: { fits: isBlocked, instead: 'rework' },
  block: { fits: (task) => !isFinal(task) && !isBlocked(task), instead: 'unblock' },
  supersede: {
    fits: ({ state, supersededBy }) => state !== 'done' && supersededBy === null,
    instead: 'create',
  },
  update: { fits: (task) => !isFinal(task), instead: 'create' },
  cancel: { fits: (task) => !isFinal(task), instead: 'create' },
  isolate_breaker: { fits: () => false, instead: 'close_breaker' },
  close_breaker: { fits: () => false, instead: 'unblock' },
  create_run: { fits: () => false, instead: 'claim_next' },
  recover_run: { fits: () => false, instead: 'rework' },
  close_run: { fits: () => false, instead: 'update_run' },
  expire_late: { fits: ({ token }) => token > 0, instead: 'claim' },
};

/** The step that a move stands for on the board as it is. */
export function stepFor(model: Model, move: Move): Step {
  const step = stepOf(new Scene(model, move), move.what, 0);
  return move.slip === 6 && step.does === 'send' ? slipped(model, step, move) : step;
}

function stepOf(scene: Scene, what: What, turns: number): Step {
  const { which, n } = scene.move;
  const { tasks } = scene.model.board;
  if (what === 'time') return pass(at(PASSES, n) * STEP_SECONDS);
  if (what === 'sweep') return sweep;
  if (what === 'restart') return restart;
  if (what === 'claim') return tasks.length === 0 ? scene.create() : claim(scene, turns);
  if (what === 'create' && scene.open.length >= OPEN_TASKS_MAX) return stepOf(scene, 'claim_next', turns);
  const step = withoutTask(scene, what);
  if (step !== null) return step;
  const fit = FIT[what];
  const fitting = fit === undefined ? tasks : tasks.filter(fit.fits);
  if (fitting.length > 0) return onTask(scene, what, among(fitting, which));
  return fit === undefined || turns > 3 ? scene.create() : stepOf(scene, fit.instead, turns + 1);
}

/** A claim of what can be claimed, mostly. */
function claim(scene: Scene, turns: number): Step {
  const { board } = scene.model;
  const { which, who, n } = scene.move;
  const waits = scene.open.filter(({ state }) => state === 'pending' || state === 'rework');
  const ready = waits.filter((task) => unmet(board, task).length === 0 && task.ready <= board.now);
  if (ready.length === 0 && turns < 3)
    return scene.open.length < OPEN_TASKS_MAX ? scene.create() : stepOf(scene, 'unblock', turns + 1);
  const task = among(ready.length > 0 ? ready : board.tasks, which);
  const purpose = n % 3 === 0 ? null : 'work';
  const leaseSeconds = at([300, 800, 1_300, 7_700], n);
  return scene.by(at(EXECUTORS, who), {
    type: 'claim',
    taskId: task.id,
    purpose,
    leaseSeconds,
    sessionId: null,
  });
}

/** The same with something wrong: the wrong person, an old token, another task, another attempt. */
function slipped(model: Model, step: Extract<Step, { does: 'send' }>, { n, who, which }: Move): Step {
  const { command, by } = step;
  const somebody: Name = at(NAMES, who);
  if (n % 4 === 0) return { ...step, by: somebody };
  if (n % 4 === 1 && 'leaseToken' in command && command.leaseToken !== null) {
    const leaseToken = Math.max(1, command.leaseToken + at([-1, -2, 1], which));
    return { ...step, command: { ...command, leaseToken } };
  }
  if (n % 4 === 2 && 'taskId' in command) {
    const other = which === 7 ? taskId(99) : at(model.board.tasks, which).id;
    return { ...step, command: { ...command, taskId: other } };
  }
  if ('attempt' in command && command.attempt !== null)
    return { ...step, command: { ...command, attempt: Math.max(1, command.attempt - 1) } };
  if (command.type === 'submit') return { ...step, command: { ...command, result: '' } };
  return by === 'server' ? step : { ...step, by: somebody };
}
