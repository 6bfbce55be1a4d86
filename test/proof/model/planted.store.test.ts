import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { nights, rules } from './moves.js';
import { playMoves } from './play.js';
import { openStage } from './stage.js';

/** Faults that the service does not have, each planted in one of its rules. */
const FAULTS = {
  sixthRework: 'the fifth rework does not block',
  anyoneLifts: 'what a limit has blocked may be lifted by whoever plans, however grave it is',
  sameAgain: 'a second unblock needs no change',
  errorsStay: 'an unblock leaves the errors as they were',
  selfReview: 'whoever worked on a task may judge it',
  oldToken: 'an old token hands in as well as the one that holds',
  lateExpiry: 'the expiry of an old lease ends the one that holds',
  longLease: 'a lease outlasts the longest time of an attempt',
  newFirst: 'what was sent back is not claimed before what is new',
  outsideCounts: 'a failure for want of infrastructure counts as an error',
  cacheCounts: 'a cache that is read again is counted',
  noProgress: 'an approval is no progress of the run',
  waitsInVain: 'what waits for a cancelled task goes on waiting',
};
type Fault = keyof typeof FAULTS;

const isFault = (name: string): name is Fault => name in FAULTS;

const planted = vi.hoisted(() => ({ fault: null as string | null }));
const has = (fault: Fault): boolean => planted.fault === fault;

vi.mock(import('../../../src/modules/guard/evaluate.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    openTaskLayers: (verdict) =>
      real
        .openTaskLayers(verdict)
        .filter(({ kind, value, limit }) => !has('sixthRework') || kind !== 'rework' || value > limit),
  };
});

vi.mock(import('../../../src/modules/guard/recovery.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    mustEscalate: (recovery) => !has('anyoneLifts') && real.mustEscalate(recovery),
    isSlowLoop: (recovery) => !has('sameAgain') && real.isSlowLoop(recovery),
  };
});

vi.mock(import('../../../src/modules/tasks/decide/unblock.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    unblock: (draft, command, as) => {
      const { errorCount } = draft.taskOf(command.taskId).counters;
      const result = real.unblock(draft, command, as);
      const after = draft.taskOf(command.taskId);
      if (has('errorsStay') && result.ok)
        draft.putQuietly({ ...after, counters: { ...after.counters, errorCount } });
      return result;
    },
  };
});

vi.mock(import('../../../src/modules/tasks/decide/review.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    rework: (draft, command) => {
      const task = draft.taskOf(command.taskId);
      if (has('selfReview')) draft.putQuietly({ ...task, memory: { ...task.memory, workers: [] } });
      return real.rework(draft, command);
    },
  };
});

vi.mock(import('../../../src/modules/tasks/decide/work.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    submit: (draft, command) => {
      const { lease } = draft.taskOf(command.taskId);
      return real.submit(
        draft,
        has('oldToken') && lease !== null ? { ...command, leaseToken: lease.token } : command,
      );
    },
  };
});

vi.mock(import('../../../src/modules/tasks/decide/expiry.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    expire: (draft, command) => {
      const { lease } = draft.taskOf(command.taskId);
      if (!has('lateExpiry') || lease === null || lease.token === command.leaseToken)
        return real.expire(draft, command);
      real.expireLease(draft, draft.taskOf(command.taskId));
    },
  };
});

vi.mock(import('../../../src/modules/tasks/decide/machine.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    leaseFor: (task, agentId, kind, seconds, now, maxSeconds) =>
      real.leaseFor(task, agentId, kind, seconds, now, has('longLease') ? seconds : maxSeconds),
    placementOf: (task, now) =>
      real.placementOf(
        has('newFirst') && task.state === 'rework' ? { ...task, state: 'pending' } : task,
        now,
      ),
  };
});

vi.mock(import('../../../src/modules/tasks/decide/breakers.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    noteFailure: (draft, task, agentId, error) =>
      real.noteFailure(draft, task, agentId, error) ||
      (has('outsideCounts') && error.class === 'infrastructure'),
  };
});

vi.mock(import('../../../src/modules/tasks/decide/usage.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    addToLast: (draft, task, usage) => {
      const { input, cacheRead } = usage.tokens;
      const tokens = { ...usage.tokens, input: input + cacheRead };
      return real.addToLast(draft, task, has('cacheCounts') ? { ...usage, tokens } : usage);
    },
  };
});

vi.mock(import('../../../src/modules/tasks/decide/run.js'), async (original) => {
  const real = await original();
  return { ...real, progress: (draft, task) => (has('noProgress') ? undefined : real.progress(draft, task)) };
});

vi.mock(import('../../../src/modules/tasks/decide/dependencies.js'), async (original) => {
  const real = await original();
  return {
    ...real,
    blockDependants: (draft, taskId) =>
      has('waitsInVain') ? undefined : real.blockDependants(draft, taskId),
  };
});

/** Histories enough to tell each fault, always the same ones. */
const NIGHTS = 20;

/** What the model says to a service with that fault; null where nothing in those histories is different. */
async function look(fault: Fault | null): Promise<string | null> {
  planted.fault = fault;
  const stage = await openStage();
  const property = fc.asyncProperty(nights, ({ project, moves }) =>
    playMoves(stage, rules(project), moves, new Map()),
  );
  const { failed, errorInstance } = await fc.check(property, {
    numRuns: NIGHTS,
    seed: 1,
    endOnFailure: true,
  });
  await stage.close();
  planted.fault = null;
  return failed ? String(errorInstance) : null;
}

const LONG = { timeout: 120_000 };

it.each(
  Object.keys(FAULTS)
    .filter(isFault)
    .map((fault) => ({ fault, so: FAULTS[fault] })),
)('the model tells that $so', LONG, async ({ fault }) => {
  expect(await look(fault)).toMatch(/(model says|the model|rows differ)[\s\S]*after\n {2}1\. /);
});

it('where no fault is planted it tells none', LONG, async () => {
  expect(await look(null)).toBeNull();
});
