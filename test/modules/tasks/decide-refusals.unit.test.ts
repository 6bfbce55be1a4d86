import { describe, expect, it } from 'vitest';
import type { RefusalCode } from '../../../src/kernel/refusal.js';
import type { Decision } from '../../../src/modules/tasks/decide.js';
import type { Task } from '../../../src/modules/tasks/types.js';
import { START, someAgent, someId, someLast, someLease, someTask, taskIn } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { World } from '../../support/view.js';

const worker = someAgent('worker', 'executor', 'reviewer');
const idle = someAgent('idle', 'executor');
const judge = someAgent('judge', 'reviewer');
const other = someAgent('other', 'reviewer');
const planner = someAgent('planner', 'planner');

const codeOf = ({ outcome }: Decision): RefusalCode | null =>
  outcome.kind === 'refused' ? outcome.refusal.code : null;

function world(task: Task): World {
  const made = new World([task]);
  made.join(worker, idle, judge, other, planner);
  return made;
}

const leased = someLease(other.agentId, { kind: 'review', token: 2 });

describe('the first match names the refusal of a verdict', () => {
  const everything = taskIn('in_review', worker.agentId, {
    attempt: 2,
    lease: leased,
    memory: { last: someLast(worker.agentId, { number: 2, hasResult: true, judged: true }) },
  });
  const verdict = (task: Task) => ({ ...commandsOn(task.id, 1).approve, attempt: 1, leaseToken: 99 });

  it('role, before the task is looked for', () => {
    const gone = { ...verdict(everything), taskId: someId() };
    expect(codeOf(world(everything).send(planner, gone))).toBe('forbidden_role');
    expect(codeOf(world(everything).send(idle, verdict(everything)))).toBe('forbidden_role');
  });

  it('not_found, before anything of the task', () => {
    expect(codeOf(world(everything).send(worker, { ...verdict(everything), taskId: someId() }))).toBe(
      'not_found',
    );
  });

  it('self_review, before the attempt it names', () => {
    expect(codeOf(world(everything).send(worker, verdict(everything)))).toBe('self_review');
  });

  it('stale_attempt, before the verdict that is there', () => {
    expect(codeOf(world(everything).send(judge, verdict(everything)))).toBe('stale_attempt');
  });

  it('verdict_already_recorded, before the review of another', () => {
    const command = { ...verdict(everything), attempt: 2 };
    expect(codeOf(world(everything).send(judge, command))).toBe('verdict_already_recorded');
  });

  it('already_claimed, before the token', () => {
    const task = taskIn('in_review', worker.agentId, { lease: leased });
    expect(codeOf(world(task).send(judge, verdict(task)))).toBe('already_claimed');
  });

  it('task_blocked and invalid_transition, by the state', () => {
    const blocked = taskIn('blocked', worker.agentId);
    const pending = taskIn('pending', worker.agentId);
    const { approve } = commandsOn(blocked.id, 1);
    expect(codeOf(world(blocked).send(judge, approve))).toBe('task_blocked');
    expect(codeOf(world(pending).send(judge, { ...approve, taskId: pending.id }))).toBe('invalid_transition');
  });

  it('lease_lost last, when nothing but the token is wrong', () => {
    const task = taskIn('in_review', worker.agentId);
    expect(codeOf(world(task).send(judge, { ...verdict(task), leaseToken: 7 }))).toBe('lease_lost');
    expect(codeOf(world(task).send(judge, { ...verdict(task), leaseToken: null }))).toBeNull();
  });
});

describe('the first match names the refusal of a claim', () => {
  const review = (task: Task) => ({ ...commandsOn(task.id, 1).claim, purpose: 'review' as const });
  const work = (task: Task) => ({ ...commandsOn(task.id, 1).claim, purpose: 'work' as const });

  it('a review: role, self_review, already_claimed, task_blocked, invalid_transition', () => {
    const task = taskIn('in_review', worker.agentId, { lease: leased });
    expect(codeOf(world(task).send(idle, review(task)))).toBe('forbidden_role');
    expect(codeOf(world(task).send(worker, review(task)))).toBe('self_review');
    expect(codeOf(world(task).send(judge, review(task)))).toBe('already_claimed');
    const blocked = taskIn('blocked', worker.agentId, { memory: { workers: [worker.agentId] } });
    expect(codeOf(world(blocked).send(worker, review(blocked)))).toBe('self_review');
    expect(codeOf(world(blocked).send(judge, review(blocked)))).toBe('task_blocked');
    const pending = taskIn('pending', worker.agentId);
    expect(codeOf(world(pending).send(judge, review(pending)))).toBe('invalid_transition');
  });

  it('work: role, already_claimed, task_blocked, invalid_transition', () => {
    const held = taskIn('in_progress', worker.agentId);
    expect(codeOf(world(held).send(judge, work(held)))).toBe('forbidden_role');
    expect(codeOf(world(held).send(idle, work(held)))).toBe('already_claimed');
    const blocked = taskIn('blocked', worker.agentId, { unmet: 1 });
    expect(codeOf(world(blocked).send(idle, work(blocked)))).toBe('task_blocked');
    const done = taskIn('done', worker.agentId);
    expect(codeOf(world(done).send(idle, work(done)))).toBe('invalid_transition');
  });

  it('then what keeps a task that could be claimed: dependency, hands, time', () => {
    const everything = someTask({
      unmet: 1,
      readyAt: START + 1,
      dependsOn: [],
      memory: { excluded: [idle.agentId] },
    });
    expect(codeOf(world(everything).send(idle, work(everything)))).toBe('dependency_unmet');
    const kept = someTask({ readyAt: START + 1, memory: { excluded: [idle.agentId] } });
    expect(codeOf(world(kept).send(idle, work(kept)))).toBe('excluded_agent');
    const assigned = someTask({ readyAt: START + 1, memory: { assigned: worker.agentId } });
    expect(codeOf(world(assigned).send(idle, work(assigned)))).toBe('excluded_agent');
    const early = someTask({ readyAt: START + 1 });
    expect(codeOf(world(early).send(idle, work(early)))).toBe('not_yet_due');
    const due = someTask({ readyAt: START });
    expect(codeOf(world(due).send(idle, work(due)))).toBeNull();
  });
});

describe('what a refusal tells', () => {
  it('the state, and the commands that fit it', () => {
    const task = taskIn('pending', worker.agentId);
    const { outcome } = world(task).send(planner, commandsOn(task.id, 1).unblock);
    expect(outcome).toMatchObject({
      refusal: {
        code: 'invalid_transition',
        facts: {
          state: 'pending',
          allowed_commands: ['update', 'claim_next', 'claim', 'report_usage', 'block', 'cancel'],
        },
      },
    });
  });

  it('the holder, and what is left of its lease', () => {
    const task = taskIn('in_progress', worker.agentId);
    const board = world(task);
    board.now += 100_000;
    expect(board.send(idle, commandsOn(task.id, 1).claim).outcome).toMatchObject({
      refusal: {
        code: 'already_claimed',
        retryable: true,
        facts: { holder: { agent_id: `agt_${worker.agentId}`, name: 'worker' }, lease_seconds_left: 200 },
      },
    });
  });

  it('that a blocked task is a planner’s matter, and an operator’s where the operator blocked it', () => {
    const role = (task: Task) => {
      const { outcome } = world(task).send(idle, commandsOn(task.id, 1).claim);
      return outcome.kind === 'refused' ? outcome.refusal.nextActions?.[0]?.role : null;
    };
    expect(role(taskIn('blocked', worker.agentId))).toBe('planner');
    expect(role(taskIn('blocked', worker.agentId, { memory: { blockedByOperator: true } }))).toBe('operator');
  });
});

describe('conditions that a command carries', () => {
  it.each([
    [{ version: 2 }, 'stale_version'],
    [{ expectedState: 'rework' }, 'invalid_transition'],
    [{ version: 1, expectedState: 'pending' }, null],
  ] as const)('%o', (condition, code) => {
    const task = someTask();
    const command = { ...commandsOn(task.id, 1).cancel, ...condition };
    expect(codeOf(world(task).send(planner, command))).toBe(code);
  });
});

describe('a refused command', () => {
  it('never changes a task beyond its evidence, and evidence is kept once', () => {
    const task = taskIn('in_progress', worker.agentId);
    const board = world(task);
    board.now += 301_000;
    board.send(idle, commandsOn(task.id, 1).claim);
    const before = board.taskOf(task.id);
    expect(before).toMatchObject({ state: 'in_progress', attempt: 2 });
    for (let time = 0; time < 3; time += 1)
      expect(codeOf(board.send(worker, commandsOn(task.id, 1).submit))).toBe('lease_lost');
    expect(board.taskOf(task.id)).toEqual({ ...before, eventNumber: before.eventNumber + 1 });
    expect(board.attempt(task.id, { number: 1 })?.lateResult).toBe('posts.json');
  });
});
