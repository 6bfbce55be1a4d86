import type { OwnLimits } from '../../../../src/modules/guard/types.js';
import { CAST, EXECUTORS, REVIEWERS, runId } from '../cast.js';
import type { What } from '../moves.js';
import type { Step } from '../step.js';
import { among, at, type Scene } from './scene.js';

const RUN_LIMITS: readonly OwnLimits[] = [
  { maxIterations: 5, maxUnblocks: 1 },
  { maxIterations: 12, maxReworks: 2 },
  { maxRunTokens: 200 },
  { maxRunCostMicros: 700, maxErrors: 2 },
  {},
];
const RUNS_MAX = 4;

/** Moves that are about no task that is there. */
export function withoutTask(scene: Scene, what: What): Step | null {
  const { board } = scene.model;
  const { who, n, which } = scene.move;
  const { planner } = scene;
  const run = at(board.runs, n).id;
  const shut = Object.entries(board.breakers).filter(([, { state }]) => state !== 'closed');
  switch (what) {
    case 'create':
      return scene.create();
    case 'plan': {
      const old = board.tasks.length > 0 && n % 3 === 0 ? among(board.tasks, which).id : null;
      const first = { ...scene.newTask(0, null), dedupeKey: null };
      const next = { ...scene.newTask(1, old), dedupeKey: null, dependsOn: [first.id] };
      return scene.by(planner, { type: 'create', tasks: [first, next], run: null, plan: true });
    }
    case 'claim_next': {
      const waits = board.tasks.some((task) => task.state === 'in_review' && task.lease === null);
      const purpose = waits && n % 3 === 0 ? 'review' : 'work';
      const claimant = purpose === 'work' ? at(EXECUTORS, who) : at([...REVIEWERS, CAST.human], who);
      const named = n % 5 === 0 ? run : null;
      const terms = { leaseSeconds: at([300, 800, 1_300], n), sessionId: null };
      return scene.by(claimant, {
        type: 'claim_next',
        purpose,
        labels: [],
        runId: named,
        max: 1 + (which % 2),
        ...terms,
      });
    }
    case 'create_run': {
      if (board.runs.length >= RUNS_MAX) return null;
      const id = runId(board.runs.length);
      const iterationMode = n % 3 === 0 ? 'since_progress' : 'total';
      const limits = at(RUN_LIMITS, n);
      const deadlineAt = n % 5 === 4 ? scene.later(6) : null;
      return scene.by(planner, {
        type: 'create_run',
        run: { id, name: id, limits, iterationMode, deadlineAt },
      });
    }
    case 'update_run': {
      const limits = at<OwnLimits>(
        [{ maxIterations: 3 + n }, { maxReworks: 1 + (n % 4) }, { maxErrors: 2 }],
        n,
      );
      return scene.by(planner, { type: 'update_run', runId: run, edit: { limits } });
    }
    case 'recover_run': {
      const tripped = board.runs.filter(({ state }) => state === 'tripped');
      if (tripped.length === 0 && n % 8 > 0) return null;
      const changes = n % 2 === 0 ? {} : { limits: { maxIterations: 5 + n, maxRunTokens: 300 + n * 20 } };
      const strategy = n % 8 === 7 ? 'terminate' : 'reset';
      const form = { reason: 'go on', assessment: null, changes, resetTokens: n % 3 === 0 };
      const { id } = at(tripped.length > 0 ? tripped : board.runs, n);
      return scene.by(planner, { type: 'recover_run', runId: id, strategy, ...form });
    }
    case 'close_run':
      return n % 3 === 0 ? scene.by(planner, { type: 'close_run', runId: run, reason: null }) : null;
    case 'isolate_breaker': {
      // Nobody can do anything under the fleet's: seldom, and not for long.
      const breakerId = n === 0 ? 'fleet' : at(EXECUTORS, n).id;
      return shut.length > 0 ? null : scene.by(CAST.human, { type: what, breakerId, reason: 'look' });
    }
    case 'close_breaker':
      return shut.length === 0
        ? null
        : scene.by(CAST.human, { type: what, breakerId: at(shut, n)[0], reason: 'looked' });
    default:
      return null;
  }
}
