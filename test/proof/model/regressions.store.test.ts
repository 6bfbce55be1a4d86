import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OwnLimits } from '../../../src/modules/guard/types.js';
import type { NewTask } from '../../../src/modules/tasks/types.js';
import { someNewTask } from '../../support/builders.js';
import { runId, taskId } from './cast.js';
import { rules } from './moves.js';
import { playSteps } from './play.js';
import { openStage, type Stage } from './stage.js';
import { on, pass, restart, type Step, send, sweep } from './step.js';

/** Histories in which the service once did something else than the model; each was made as short as it could be. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(async () => {
  expect(await stage.audit()).toEqual({});
  await stage.close();
});

const task = (n: number, over: Partial<NewTask> = {}): NewTask => someNewTask({ id: taskId(n), ...over });
const create = (...tasks: NewTask[]): Step =>
  send('planner', { type: 'create', tasks, run: null, plan: tasks.length > 1 });
const split = (n: number, ...tasks: NewTask[]): Step => send('planner', { ...on(n).split, tasks });
const failed = { class: 'error', message: 'no answer', detail: null } as const;

/** Claimed and handed in, the first time on that task. */
const worked = (n: number): Step[] => [send('one', on(n).claim), send('one', on(n).submit)];
const play = (...steps: Step[]): Promise<void> => playSteps(stage, rules(0), steps);

it('the token of a review is nobody else’s: with it a stranger has lost a lease, not come to the wrong state', () =>
  play(
    create(task(1)),
    ...worked(1),
    send('judge', { ...on(1).claim, purpose: 'review' }),
    send('planner', on(1, 2).release),
    send('critic', on(1, 2).submit),
    send('judge', on(1, 2).submit),
  ));

it('what no limit has blocked is split without counting an unblock on its parts', () =>
  play(
    create(task(1)),
    send('planner', on(1).block),
    split(1, task(2), task(3, { dependsOn: [taskId(2)] })),
  ));

/** Tripped by its errors, and let try again after the cooldown. */
const tryingAgain = (over: Partial<NewTask> = {}): Step[] => [
  create(task(1, { ...over, limits: { maxErrors: 1, ...over.limits } })),
  send('one', on(1).claim),
  send('one', { ...on(1).fail, error: failed }),
  pass(500),
  sweep,
];

it('a block by hand while a task tries again is lifted without counting, and the try goes on', () =>
  play(
    ...tryingAgain({ limits: { maxUnblocks: 1 } }),
    send('planner', on(1).block),
    send('planner', on(1).unblock),
    send('one', on(1).claim),
    send('one', { ...on(1, 2).fail, error: failed }),
    send('planner', on(1).unblock),
    send('one', on(1).claim),
  ));

it('a try that was stopped by hand with its result handed in is over once that goes to review', () =>
  play(
    ...tryingAgain(),
    send('one', on(1).claim),
    send('planner', on(1).block),
    send('one', on(1, 2).submit),
    send('planner', { ...on(1).unblock, to: 'in_review' }),
    send('judge', on(1).approve),
  ));

it('a trip that opens again by another limit is of that kind', () =>
  play(
    ...tryingAgain({ limits: { maxAttempts: 2 } }),
    send('one', on(1).claim),
    send('one', { ...on(1, 2).fail, error: { ...failed, class: 'rate_limited' } }),
  ));

const beginRun = (limits: OwnLimits): Step =>
  send('planner', {
    type: 'create_run',
    run: { id: runId(1), name: 'night', limits, iterationMode: 'total', deadlineAt: null },
  });

it('the trip of a run is of the limit that opened it, whatever else is crossed while it is open', () =>
  play(
    beginRun({ maxIterations: 1 }),
    create(task(1, { runId: runId(1) })),
    send('one', on(1).claim),
    send('planner', {
      type: 'update_run',
      runId: runId(1),
      edit: { limits: { maxIterations: 9, maxRunTokens: 1 } },
    }),
    send('one', { ...on(1).report_usage, leaseToken: 1 }),
  ));

it('what is handed in after its run was closed is not the next to be reviewed, whichever process is asked', () => {
  const nextReview = send('judge', { ...on(0).claim_next, purpose: 'review' });
  return play(
    beginRun({}),
    create(task(1, { runId: runId(1) })),
    create(task(2)),
    ...worked(2),
    nextReview,
    send('one', on(1).claim),
    send('planner', { type: 'close_run', runId: runId(1), reason: null }),
    nextReview,
    send('one', on(1).submit),
    nextReview,
    restart,
    nextReview,
    send('judge', { ...on(1).claim, purpose: 'review' }),
  );
});

it('a part may wait for a task that is long finished', () =>
  play(
    create(task(1)),
    create(task(2, { dependsOn: [taskId(1)] })),
    ...worked(1),
    send('judge', on(1).approve),
    ...worked(2),
    send('judge', on(2).approve),
    create(task(3)),
    send('planner', on(3).block),
    split(3, task(4, { dependsOn: [taskId(2)] })),
  ));

it('so may a task of a plan of which another one supersedes', () =>
  play(
    create(task(1)),
    create(task(2, { dependsOn: [taskId(1)] })),
    ...worked(1),
    send('judge', on(1).approve),
    ...worked(2),
    send('judge', on(2).approve),
    create(task(3)),
    create(task(4, { dependsOn: [taskId(2)] }), task(5, { dependsOn: [taskId(4)], supersedes: taskId(3) })),
  ));

it('who goes on without a cancelled task does not wait for what takes its place later', () =>
  play(
    create(task(1)),
    create(task(2, { dependsOn: [taskId(1)] })),
    send('planner', on(1).cancel),
    split(2, task(3)),
    create(task(4, { supersedes: taskId(1) })),
    ...worked(4),
    send('judge', on(4).approve),
    send('one', on(2).claim),
  ));
