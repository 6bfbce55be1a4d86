import type { OwnLimits } from '../../../../src/modules/guard/types.js';
import type { AnyCommand, NewTask, Usage } from '../../../../src/modules/tasks/types.js';
import { someNewTask } from '../../../support/builders.js';
import { CAST, type Person, taskId } from '../cast.js';
import type { Move } from '../moves.js';
import { isFinal, type Task } from '../oracle/board.js';
import type { Model } from '../oracle/model.js';
import { type Step, send } from '../step.js';

/** Time passes in these steps, and everything that is waited for falls well between two of them. */
export const STEP_SECONDS = 500;

export const LIMITS: readonly OwnLimits[] = [
  {},
  {},
  { maxReworks: 2 },
  { maxErrors: 2, maxAttempts: 4 },
  { maxTokens: 200, maxUnblocks: 2 },
  { maxReviewFailures: 2, maxUnblocks: 1 },
  { maxReworks: 1, maxCostMicros: 900, maxAttemptSeconds: 1_600 },
  { reassignAfter: 1 },
];

export const at = <T>(items: readonly T[], n: number): T => {
  const item = items[n % items.length];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
};

/** The first ones more often. */
export const among = (tasks: readonly Task[], which: number): Task =>
  at(tasks, at([0, 0, 0, 0, 1, 1, 2, 3], which));

const isName = (name: string): name is keyof typeof CAST => name in CAST;
export const NAMES = Object.keys(CAST).filter(isName);

/** The board as it is, and a move that wants to become a step on it. */
export class Scene {
  readonly open: readonly Task[];

  constructor(
    readonly model: Model,
    readonly move: Move,
  ) {
    this.open = model.board.tasks.filter((task) => !isFinal(task));
  }

  /** Who plans: mostly the planner, and else a human. */
  get planner(): Person {
    return this.move.who > 4 ? CAST.human : CAST.planner;
  }

  by(who: Person, command: AnyCommand): Step {
    const [name] = NAMES.filter((one) => CAST[one].id === who.id);
    return send(name ?? 'server', command);
  }

  create(): Step {
    return this.by(this.planner, {
      type: 'create',
      tasks: [this.newTask(0, null)],
      run: null,
      plan: false,
    });
  }

  newTask(more: number, supersedes: string | null): NewTask {
    const { board } = this.model;
    const { n, which } = this.move;
    const runs = board.runs.filter(({ state }) => state !== 'closed');
    const other = n % 4 === 3 && board.tasks.length > 0 ? [at(board.tasks, which).id] : [];
    const limits = at(LIMITS, n + which);
    return someNewTask({
      id: taskId(board.tasks.length + 1 + more),
      runId: supersedes === null ? at(runs, n).id : null,
      priority: at([5, 5, 5, 0, 9], n + more),
      description: n % 2 === 0 ? '' : `said ${n}`,
      dependsOn: other,
      limits,
      notBefore: n % 13 === 7 ? this.later(1) : null,
      dedupeKey: n % 10 === 9 ? 'the key' : null,
      supersedes,
    });
  }

  /** So many steps of time from now, and half a step more. */
  later(steps: number): number {
    const step = STEP_SECONDS * 1000;
    return (Math.floor(this.model.now / step) + steps) * step + step / 2;
  }

  usage(): Usage | null {
    const { n } = this.move;
    if (n % 3 > 0) return null;
    const tokens = { input: n * 3, output: 4, cacheRead: 100, cacheWrite: n % 4 };
    return { tokens, costMicros: n * 20, iterations: n % 9 === 0 ? 1 : 0, contextTokens: null };
  }
}
