import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from './client.js';
import type { NightTask } from './night.js';

/** What an agent did, for whoever watches. */
export interface Deed {
  readonly agent: string;
  readonly kind: 'submitted' | 'sent_back' | 'nothing';
  readonly title: string;
  readonly attempt: number;
}

/** One agent: its own name, key and loop. It knows the others only by what they leave on the board. */
export interface NightAgent {
  readonly name: string;
  readonly role: 'executor' | 'reviewer';
  readonly client: Client;
}

/** The rules that every agent of the night goes by. */
export interface NightRules {
  readonly runId: string;
  readonly tasks: readonly NightTask[];
  /** How long a piece of work, or a look at one, takes. */
  readonly paceMs: number;
  readonly tell: (deed: Deed) => void;
  /** Only this ends an agent: it has no reason of its own to stop. */
  readonly signal: AbortSignal;
}

/** How long an agent that was given nothing waits before it asks again, as cron would. */
const IDLE_MS = 20;

/** Runs one agent until it is switched off. */
export async function runAgent(agent: NightAgent, rules: NightRules): Promise<void> {
  const turn = agent.role === 'executor' ? work : review;
  while (!rules.signal.aborted) {
    const deed = await turn(agent, rules);
    if (rules.signal.aborted) return;
    rules.tell(deed);
    if (deed.kind === 'nothing') await pause(Math.max(IDLE_MS, rules.paceMs / 2));
  }
}

/** The executor's rule: if there is a task to do, do it. */
async function work({ client, name }: NightAgent, rules: NightRules): Promise<Deed> {
  const claimed = await client.claim('work', rules.runId);
  if (claimed === null) return nothing(name);
  await pause(rules.paceMs);
  const { task, attempt, lease_token } = claimed;
  const result = taskOf(rules, task.title)?.result ?? 'Done.';
  await client.call('POST', `/v1/tasks/${task.id}/submit`, { lease_token, result });
  return { agent: name, kind: 'submitted', title: task.title, attempt };
}

/** The reviewer's rule: if it is not what was asked for, send it back. */
async function review({ client, name }: NightAgent, rules: NightRules): Promise<Deed> {
  const claimed = await client.claim('review', rules.runId);
  if (claimed === null) return nothing(name);
  await pause(rules.paceMs);
  const { task, attempt, lease_token } = claimed;
  const { complaint, criterion } = taskOf(rules, task.title) ?? { complaint: 'Not yet.', criterion: 0 };
  await client.call('POST', `/v1/tasks/${task.id}/rework`, {
    reason: complaint,
    class: 'unmet_criterion',
    findings: [{ criterion, detail: complaint }],
    attempt,
    lease_token,
  });
  return { agent: name, kind: 'sent_back', title: task.title, attempt };
}

function taskOf({ tasks }: NightRules, title: string): NightTask | undefined {
  return tasks.find((task) => task.title === title);
}

function nothing(agent: string): Deed {
  return { agent, kind: 'nothing', title: '', attempt: 0 };
}
