import { describe, expect, it } from 'vitest';
import { ROLES, type Role, serverActor } from '../../../src/kernel/actor.js';
import type { RefusalCode } from '../../../src/kernel/refusal.js';
import type { Decision } from '../../../src/modules/tasks/decide.js';
import { COMMAND_TYPES, TRANSITIONS } from '../../../src/modules/tasks/transitions.js';
import { type CommandType, TASK_STATES, type TaskState } from '../../../src/modules/tasks/types.js';
import { PROJECT, someAgent, taskIn } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { World } from '../../support/view.js';

const server = serverActor(PROJECT);
const agents = Object.fromEntries(ROLES.map((role) => [role, someAgent(role, role)]));
const holder = someAgent('holder', 'executor');

function agentOf(role: Role) {
  const agent = agents[role];
  if (agent === undefined) throw new Error(`no agent is a ${role}`);
  return agent;
}

/** Who sends each command where it belongs; what a holder sends comes from the one who worked on the task. */
const SENDER: Record<Exclude<CommandType, 'create' | 'claim_next'>, Role | 'holder' | 'server'> = {
  update: 'planner',
  claim: 'executor',
  heartbeat: 'holder',
  report_usage: 'holder',
  submit: 'holder',
  fail: 'holder',
  release: 'holder',
  expire: 'server',
  wake: 'server',
  approve: 'reviewer',
  rework: 'reviewer',
  block: 'planner',
  unblock: 'planner',
  split: 'planner',
  escalate: 'planner',
  cancel: 'planner',
};

/** Which refusal each command meets in each state that does not allow it. */
const REFUSED: Record<keyof typeof SENDER, Partial<Record<TaskState, RefusalCode>>> = {
  update: { done: 'invalid_transition', cancelled: 'invalid_transition' },
  claim: {
    in_progress: 'already_claimed',
    in_review: 'invalid_transition',
    blocked: 'task_blocked',
    done: 'invalid_transition',
    cancelled: 'invalid_transition',
  },
  heartbeat: {
    pending: 'lease_lost',
    in_review: 'lease_lost',
    rework: 'lease_lost',
    blocked: 'lease_lost',
    done: 'lease_lost',
    cancelled: 'lease_lost',
  },
  report_usage: { pending: 'lease_lost', blocked: 'lease_lost', cancelled: 'lease_lost' },
  submit: {
    pending: 'lease_lost',
    in_review: 'invalid_transition',
    rework: 'invalid_transition',
    blocked: 'lease_lost',
    done: 'lease_lost',
    cancelled: 'lease_lost',
  },
  fail: {
    pending: 'lease_lost',
    in_review: 'invalid_transition',
    rework: 'invalid_transition',
    blocked: 'lease_lost',
    done: 'lease_lost',
    cancelled: 'lease_lost',
  },
  release: {
    pending: 'lease_lost',
    in_review: 'invalid_transition',
    rework: 'invalid_transition',
    blocked: 'lease_lost',
    done: 'lease_lost',
    cancelled: 'lease_lost',
  },
  expire: {},
  wake: {},
  approve: {
    pending: 'invalid_transition',
    in_progress: 'invalid_transition',
    rework: 'verdict_already_recorded',
    blocked: 'task_blocked',
    done: 'verdict_already_recorded',
    cancelled: 'invalid_transition',
  },
  rework: {
    pending: 'invalid_transition',
    in_progress: 'invalid_transition',
    rework: 'verdict_already_recorded',
    blocked: 'task_blocked',
    done: 'verdict_already_recorded',
    cancelled: 'invalid_transition',
  },
  block: { blocked: 'task_blocked', done: 'invalid_transition', cancelled: 'invalid_transition' },
  unblock: {
    pending: 'invalid_transition',
    in_progress: 'invalid_transition',
    in_review: 'invalid_transition',
    rework: 'invalid_transition',
    done: 'invalid_transition',
    cancelled: 'invalid_transition',
  },
  split: {
    pending: 'invalid_transition',
    in_progress: 'invalid_transition',
    in_review: 'invalid_transition',
    rework: 'invalid_transition',
    done: 'invalid_transition',
    cancelled: 'invalid_transition',
  },
  // Only a trip is handed to an operator; what is blocked here is blocked by hand.
  escalate: {
    pending: 'invalid_transition',
    in_progress: 'invalid_transition',
    in_review: 'invalid_transition',
    rework: 'invalid_transition',
    blocked: 'invalid_transition',
    done: 'invalid_transition',
    cancelled: 'invalid_transition',
  },
  cancel: { done: 'invalid_transition', cancelled: 'invalid_transition' },
};

/** A late result is kept as evidence; no other refusal leaves even an event. */
const LEAVES_EVIDENCE = ['task.late_result'];

const ON_TASK = Object.keys(SENDER).filter((type): type is keyof typeof SENDER => type in SENDER);
const EVERY = ON_TASK.flatMap((type) => TASK_STATES.map((state) => [type, state] as const));

function codeOf({ outcome }: Decision): RefusalCode | null {
  return outcome.kind === 'refused' ? outcome.refusal.code : null;
}

/** A world with one task in that state, and the answer to one command on it. */
function sent(type: CommandType, state: TaskState, by: Role | 'holder' | 'server' | 'worker') {
  const task = taskIn(state, holder.agentId);
  const world = new World([task]);
  world.join(holder, ...Object.values(agents));
  const actor = by === 'server' ? server : by === 'holder' || by === 'worker' ? holder : agentOf(by);
  const decision = world.send(actor, commandsOn(task.id, 1)[type]);
  return { before: task, after: world.taskOf(task.id), decision, world };
}

describe('in every state, every command', () => {
  it.each(EVERY)('%s on a task that is %s does what the table says', (type, state) => {
    const { before, after, decision } = sent(type, state, SENDER[type]);
    const expected = REFUSED[type][state] ?? null;
    expect(codeOf(decision)).toBe(expected);
    if (expected !== null) {
      expect(after).toEqual({ ...before, eventNumber: after.eventNumber });
      for (const event of decision.draft.events) expect(LEAVES_EVIDENCE).toContain(event.type);
      return;
    }
    const { from, to } = TRANSITIONS[type];
    if (!from.includes(state)) expect(after).toEqual(before);
    else expect(to).toContain(after.state === state ? targetOf(to, state) : after.state);
  });

  it.each(EVERY)(
    '%s on a task that is %s is refused wherever the table does not list the state',
    (type, state) => {
      const isRefused = REFUSED[type][state] !== undefined;
      const { from, by } = TRANSITIONS[type];
      if (!from.includes(state) && !by.includes('server')) expect(isRefused).toBe(true);
    },
  );
});

function targetOf(to: readonly (TaskState | 'same')[], state: TaskState): TaskState | 'same' {
  return to.includes(state) ? state : 'same';
}

/** In which state a command is at home, to see who may send it. */
const HOME: Partial<Record<CommandType, TaskState>> = {
  heartbeat: 'in_progress',
  submit: 'in_progress',
  fail: 'in_progress',
  release: 'in_progress',
  approve: 'in_review',
  rework: 'in_review',
  unblock: 'blocked',
  split: 'blocked',
  escalate: 'blocked',
};

describe('by every role, every command', () => {
  const pairs = COMMAND_TYPES.flatMap((type) => ROLES.map((role) => [type, role] as const));

  it.each(pairs)('%s by a %s', (type, role) => {
    const { decision, before, after } = sent(type, HOME[type] ?? 'pending', role);
    const { by } = TRANSITIONS[type];
    const standsIn = role === 'operator' && (by.includes('planner') || by.includes('reviewer'));
    if (by.includes('server')) expect(codeOf(decision)).toBe('forbidden_role');
    else if (type === 'block') expect(codeOf(decision)).toBe(isPlanner(role) ? null : 'forbidden_role');
    else if (by.includes('holder')) expect(codeOf(decision)).toBe('lease_lost');
    else if (type === 'claim_next')
      expect(codeOf(decision)).toBe(role === 'executor' ? null : 'forbidden_role');
    else if (type === 'claim' && (role === 'reviewer' || role === 'operator'))
      expect(codeOf(decision)).toBe('invalid_transition');
    else if (type === 'escalate' && (by.includes(role) || standsIn))
      expect(codeOf(decision)).toBe('invalid_transition');
    else if (by.includes(role) || standsIn) expect(codeOf(decision)).toBeNull();
    else expect(codeOf(decision)).toBe('forbidden_role');
    if (codeOf(decision) !== null) expect(after).toEqual(before);
  });

  it.each(['heartbeat', 'submit', 'fail', 'release', 'block', 'report_usage'] as const)(
    'the holder may %s, whatever its role',
    (type) => {
      expect(codeOf(sent(type, 'in_progress', 'holder').decision)).toBeNull();
    },
  );

  it('what only the server sends is nobody’s, an operator’s neither', () => {
    for (const type of ['expire', 'wake'] as const)
      expect(codeOf(sent(type, 'in_progress', 'operator').decision)).toBe('forbidden_role');
  });
});

function isPlanner(role: Role): boolean {
  return role === 'planner' || role === 'operator';
}

describe('the table itself', () => {
  it('has every command of the list, each once', () => {
    expect([...COMMAND_TYPES].sort()).toEqual(Object.keys(TRANSITIONS).sort());
    expect(new Set(COMMAND_TYPES).size).toBe(COMMAND_TYPES.length);
  });

  it('lets nothing leave a terminal state', () => {
    for (const type of COMMAND_TYPES) {
      const { from, to } = TRANSITIONS[type];
      const leaves = to.filter((state) => state !== 'same');
      if (from.includes('done') || from.includes('cancelled')) expect(leaves).toEqual(['blocked']);
    }
    expect(codeOf(sent('report_usage', 'done', 'worker').decision)).toBeNull();
    expect(sent('report_usage', 'done', 'worker').after.state).toBe('done');
  });

  it('only claims start work, and only what a holder sends is fenced', () => {
    const starts = COMMAND_TYPES.filter((type) => TRANSITIONS[type].starts);
    expect(starts).toEqual(['claim_next', 'claim']);
    const fenced = COMMAND_TYPES.filter((type) => TRANSITIONS[type].fenced);
    expect(fenced).toEqual(['heartbeat', 'submit', 'fail', 'release', 'expire']);
  });
});
