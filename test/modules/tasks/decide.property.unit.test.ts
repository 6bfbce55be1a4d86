import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Actor, type Role, roleFor, serverActor } from '../../../src/kernel/actor.js';
import { COMMAND_TYPES, TRANSITIONS } from '../../../src/modules/tasks/transitions.js';
import type { Command, CommandType, Task } from '../../../src/modules/tasks/types.js';
import { PROJECT, someAgent, someNewTask, someRun, someTask, someUsage } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { SOAK } from '../../support/soak.js';
import { World } from '../../support/view.js';
import { expectFenced, expectLawful, expectSound, expectSoundLog } from './invariants.js';

const ACTORS = [
  someAgent('one', 'executor'),
  someAgent('two', 'executor'),
  someAgent('both', 'executor', 'reviewer'),
  someAgent('judge', 'reviewer'),
  someAgent('plan', 'planner'),
  someAgent('human', 'operator'),
];
const SERVER_ACTOR = serverActor(PROJECT);

/** One step: who sends what on which task, with which token, and how much time passes before it. */
interface Step {
  readonly type: CommandType;
  readonly actor: number;
  readonly task: number;
  /** How far behind the newest token: 0 is the one that holds. */
  readonly tokenAge: number;
  readonly seconds: number;
  readonly choice: number;
  /** Sent by somebody who may, on a task in a state that takes it, where there is one. */
  readonly apt: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  type: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<CommandType>('claim', 'submit', 'rework') },
    { weight: 1, arbitrary: fc.constantFrom<CommandType>('fail', 'unblock', 'wake') },
    { weight: 1, arbitrary: fc.constantFrom<CommandType>(...COMMAND_TYPES) },
  ),
  actor: fc.nat(ACTORS.length - 1),
  task: fc.nat(2),
  tokenAge: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) }),
  seconds: fc.oneof({ weight: 6, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.nat(700) }),
  choice: fc.nat(11),
  apt: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
});

const LIMITS = {
  maxReworks: 2,
  maxErrors: 2,
  maxTokens: 100,
  maxReviewFailures: 2,
  maxAttempts: 5,
  maxUnblocks: 2,
};

function someWorld(): World {
  const first = someTask({ limits: LIMITS });
  const second = someTask({ limits: LIMITS, dependsOn: [], labels: ['other'] });
  const world = new World([first, second], someRun({ limits: { maxIterations: 12 } }));
  world.join(...ACTORS);
  return world;
}

const pick = <T>(items: readonly T[], at: number): T => {
  const item = items[at % items.length];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};

function taskFor(world: World, { type, task, apt }: Step): Task {
  const tasks = [...world.tasks.values()];
  const fitting = tasks.filter(({ state }) => TRANSITIONS[type].from.includes(state));
  return pick(apt && fitting.length > 0 ? fitting : tasks, task);
}

function actorFor(on: Task, { type, actor, apt }: Step): Actor {
  const { by } = TRANSITIONS[type];
  // The server sends its own commands, and no agent's.
  if (by.includes('server')) return SERVER_ACTOR;
  const hand = on.lease?.agentId ?? on.memory.last?.agentId;
  const roles = by.filter((role): role is Role => role !== 'holder' && role !== 'server');
  const holder = ACTORS.filter(({ agentId }) => by.includes('holder') && agentId === hand);
  const fitting = [...holder, ...ACTORS.filter((one) => roleFor(one, roles) !== null)];
  return pick(apt && fitting.length > 0 ? fitting : ACTORS, actor);
}

/** The command that a step stands for, on the board as it is. */
function commandOf(world: World, on: Task, { type, tokenAge, choice }: Step): Command {
  const other = pick([...world.tasks.values()], choice);
  const token = Math.max(1, on.leaseToken - tokenAge);
  const basic = commandsOn(on.id, token);
  const usage = choice % 3 === 0 ? someUsage(choice * 9, choice % 2) : null;
  switch (type) {
    case 'create': {
      const supersedes = choice % 4 === 0 ? on.id : null;
      const dependsOn = choice % 2 === 0 ? [other.id] : [];
      const limits = choice % 3 === 0 ? { ...LIMITS, maxTokens: 1_000 } : LIMITS;
      return { ...basic.create, tasks: [someNewTask({ supersedes, dependsOn, limits })] };
    }
    case 'update':
      return choice % 2 === 0
        ? { ...basic.update, edit: { description: `version ${choice}` } }
        : { ...basic.update, edit: { dependsOn: choice % 4 === 1 ? [other.id] : [] } };
    case 'claim_next':
      return { ...basic.claim_next, purpose: choice % 2 === 0 ? 'work' : 'review', max: 1 + (choice % 3) };
    case 'claim':
      return { ...basic.claim, leaseSeconds: 60 + choice };
    case 'heartbeat':
      return { ...basic.heartbeat, usage };
    case 'report_usage':
      return { ...basic.report_usage, usage: someUsage(choice * 9, choice % 2), leaseToken: token };
    case 'submit':
      return { ...basic.submit, usage };
    case 'fail': {
      const kind = pick(['error', 'error', 'fatal', 'rate_limited', 'infrastructure'] as const, choice);
      return { ...basic.fail, usage, error: { class: kind, message: 'no answer', detail: null } };
    }
    case 'rework':
      return { ...basic.rework, class: choice === 0 ? 'infrastructure' : 'defect' };
    case 'approve':
      return { ...basic.approve, attempt: choice === 0 ? 1 : null };
    case 'split': {
      const tasks = [someNewTask({ limits: LIMITS })];
      return { ...basic.split, tasks, resetTokens: choice % 2 === 0 };
    }
    case 'unblock': {
      const limits = choice % 3 === 0 ? { limits: { maxTokens: 1_000 } } : {};
      const description = choice % 2 === 0 ? { description: `unblocked ${choice}` } : {};
      const to = choice % 5 === 0 ? 'in_review' : 'pending';
      return {
        ...basic.unblock,
        changes: { ...limits, ...description },
        to,
        resetTokens: choice % 4 === 0,
      };
    }
    default:
      return basic[type];
  }
}

it('whatever is sent, in whatever order, by whomever: the rules of the board hold', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
      const world = someWorld();
      for (const next of steps) {
        world.now += next.seconds * 1000;
        const before = taskFor(world, next);
        const actor = actorFor(before, next);
        const command = commandOf(world, before, next);
        const decision = world.send(actor, command);
        const after = world.taskOf(before.id);
        if ('taskId' in command) expectLawful(before, after, command, decision);
        if ('leaseToken' in command && command.leaseToken !== null && command.type !== 'report_usage')
          if (command.type !== 'approve' && command.type !== 'rework' && command.type !== 'expire')
            expectFenced(before, after, command.leaseToken, actor.agentId);
        expectSound(world, decision.draft.tasks.keys());
        seen.add(
          `${command.type} ${decision.outcome.kind === 'refused' ? decision.outcome.refusal.code : 'done'}`,
        );
      }
      expectSoundLog(world);
    }),
    { numRuns: 150 * SOAK },
  );
  for (const type of COMMAND_TYPES) expect([...seen]).toContain(`${type} done`);
});
