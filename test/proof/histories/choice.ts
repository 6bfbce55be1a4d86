import type { Random } from './random.js';
import type { Answer } from './specification.js';
import type { Agent, Call, Purpose } from './task.js';

/** What the clients of one history have seen so far of their task, all together: it may be old by the time it is used. */
export class Seen {
  state = 'pending';
  version = 1;
  attempt = 0;
  /** The holder has fallen silent: whoever acts for it leaves the lease alone, and others try for the task. */
  silent = false;
  /** The newest lease that was given, whether or not it still holds. */
  lease: { readonly agentId: string; readonly token: number; readonly purpose: Purpose } | null = null;
  /** The newest work token of each agent. */
  private readonly tokens = new Map<string, number>();

  /** Takes in an answer. Answers of the task that are older than what was seen tell nothing. */
  note(agent: Agent, call: Call, { code, fields }: Answer): void {
    if (code !== 'ok' || fields === null) return;
    const { version, state, attempt, lease_token: token } = fields;
    if (typeof version === 'number' && version >= this.version) {
      this.version = version;
      if (typeof state === 'string') this.state = state;
      if (typeof attempt === 'number') this.attempt = attempt;
    }
    if (call.type !== 'claim' || typeof token !== 'number' || token < (this.lease?.token ?? 0)) return;
    this.lease = { agentId: agent.id, token, purpose: call.purpose };
    if (call.purpose === 'work') this.tokens.set(agent.id, token);
  }

  /** The last token with which an agent worked on the task. */
  tokenOf(agentId: string): number | null {
    return this.tokens.get(agentId) ?? null;
  }

  holds(agentId: string, purpose: Purpose): boolean {
    return this.lease?.agentId === agentId && this.lease.purpose === purpose;
  }
}

type Choices = (readonly [weight: number, call: Call | null])[];

/**
 * What an agent would do next: mostly what makes sense in the state that was seen, at times what is too late or wrong. Null: to
 * look again in a moment, as it has no part in that state.
 */
export function chooseCall(random: Random, agent: Agent, seen: Seen, mayFinish: boolean): Call | null {
  if (seen.silent && seen.lease?.agentId === agent.id) return null;
  const choices: Choices = [
    [0.3, { type: 'read' }],
    [hasPart(agent, seen) ? 0 : 6, null],
  ];
  if (agent.roles.includes('executor')) choices.push(...working(random, agent, seen));
  if (agent.roles.includes('reviewer')) choices.push(...reviewing(random, agent, seen, mayFinish));
  const operator = agent.roles.includes('operator');
  if (operator || agent.roles.includes('planner'))
    choices.push(...planning(random, seen, mayFinish, operator));
  return random.weighted(choices);
}

/** Whether the task, as it was seen, waits for an agent of these roles. */
function hasPart({ id, roles }: Agent, { state, lease, silent }: Seen): boolean {
  switch (state) {
    case 'pending':
    case 'rework':
      return roles.includes('executor');
    case 'in_progress':
      return lease?.agentId === id || (silent && roles.includes('executor'));
    case 'in_review':
      return roles.includes('reviewer');
    case 'blocked':
      return roles.includes('planner') || roles.includes('operator');
    default:
      return true;
  }
}

function working(random: Random, agent: Agent, seen: Seen): Choices {
  const open = seen.state === 'pending' || seen.state === 'rework' || seen.silent;
  const choices: Choices = [
    [open ? 12 : seen.state === 'in_progress' ? 1.5 : 0.4, { type: 'claim', purpose: 'work' }],
  ];
  const token = seen.tokenOf(agent.id);
  const tokens = random.chance(0.6) ? 1 + random.below(250) : 0;
  if (token !== null) {
    const mine = seen.holds(agent.id, 'work') && seen.state === 'in_progress';
    choices.push(
      [mine ? 3 : 0.5, { type: 'heartbeat', token, tokens: random.chance(0.3) ? tokens : 0 }],
      [mine ? 2 : 0.7, { type: 'usage', token, tokens: 1 + random.below(250) }],
      [mine ? 4 : 0.7, { type: 'submit', token, tokens }],
      [mine ? 1.5 : 0.4, { type: 'fail', token, tokens, counts: random.chance(0.6) }],
      [mine ? 1 : 0.3, { type: 'release', token }],
      [mine ? 0.3 : 0.05, { type: 'block' }],
    );
  }
  // With a token that was given to somebody else.
  if (seen.lease !== null && seen.lease.agentId !== agent.id)
    choices.push([0.4, { type: 'submit', token: seen.lease.token, tokens }]);
  return choices;
}

function reviewing(random: Random, agent: Agent, seen: Seen, mayFinish: boolean): Choices {
  const there = seen.state === 'in_review' ? 1 : 0.15;
  const attempt = seen.attempt > 0 && random.chance(0.5) ? seen.attempt : null;
  const reviews = seen.holds(agent.id, 'review') ? seen.lease : null;
  const token = reviews !== null && random.chance(0.5) ? reviews.token : null;
  const choices: Choices = [
    [3 * there, { type: 'claim', purpose: 'review' }],
    [4 * there, { type: 'rework', attempt, token, broken: random.chance(0.3) }],
    [(mayFinish ? 3 : 0.05) * there, { type: 'approve', attempt, token }],
  ];
  if (reviews !== null)
    choices.push(
      [there, { type: 'release', token: reviews.token }],
      [there, { type: 'heartbeat', token: reviews.token, tokens: random.chance(0.3) ? 10 : 0 }],
      [there, { type: 'usage', token: reviews.token, tokens: 10 }],
      [0.2 * there, { type: 'submit', token: reviews.token, tokens: 0 }],
    );
  return choices;
}

function planning(random: Random, seen: Seen, mayFinish: boolean, operator: boolean): Choices {
  const blocked = seen.state === 'blocked';
  const to = random.chance(0.4) ? 'in_review' : 'pending';
  const unblock = {
    type: 'unblock',
    to,
    changes: random.chance(0.8),
    resetTokens: random.chance(0.7),
  } as const;
  const choices: Choices = [
    [blocked ? 12 : 0.2, unblock],
    [operator ? 0.1 : 0.2, { type: 'block' }],
    [mayFinish ? 0.08 : 0.01, { type: 'cancel' }],
  ];
  // An operator may judge as a reviewer does.
  if (operator) choices.push([seen.state === 'in_review' ? 1 : 0.2, verdict(random, seen)]);
  return choices;
}

function verdict(random: Random, { attempt }: Seen): Call {
  return {
    type: 'rework',
    attempt: attempt > 0 && random.chance(0.5) ? attempt : null,
    token: null,
    broken: false,
  };
}
