import { z } from 'zod';
import type { Role } from '../../../src/kernel/actor.js';
import type { EventType } from '../../../src/kernel/event.js';
import { type Command, send } from './client.js';
import type { Ledger } from './ledger.js';
import type { Service } from './service.js';

const made = z.object({ id: z.string() });
const claimed = z.object({ task: made, lease_token: z.number() });

/** The fact that each command makes true, by its name in the path. */
const FACTS = {
  claim: 'task.claimed',
  heartbeat: 'task.usage_reported',
  usage: 'task.usage_reported',
  submit: 'task.submitted',
  fail: 'task.failed',
  release: 'task.released',
  approve: 'task.approved',
  rework: 'task.rework_requested',
} as const satisfies Record<string, EventType>;

/** Brings tasks to where a test wants them, and makes the commands that go on from there. */
export class Board {
  private commands = 0;

  constructor(
    private readonly service: Service,
    private readonly ledger: Ledger,
  ) {}

  command(role: Role, path: string, fact: EventType, body: object): Command {
    this.commands += 1;
    return { id: `board-${this.commands}`, key: this.service.key(role), path, fact, body };
  }

  /** A command on one task. */
  on(role: Role, taskId: string, name: keyof typeof FACTS, body: object = {}): Command {
    return this.command(role, `/tasks/${taskId}/${name}`, FACTS[name], body);
  }

  /** Sends a command that must be carried out; answers the text of the answer. */
  async done(command: Command): Promise<string> {
    const { status, text } = await send(this.service.url, this.ledger, command);
    if (status !== 200 && status !== 201) throw new Error(`${command.path} was answered ${status}: ${text}`);
    return text;
  }

  async created(fields: object = {}): Promise<string> {
    const body = { title: 'Fetch the posts', ...fields };
    return made.parse(JSON.parse(await this.done(this.command('planner', '/tasks', 'task.created', body))))
      .id;
  }

  async claimed(terms: object = {}): Promise<{ readonly id: string; readonly lease_token: number }> {
    const id = await this.created();
    const answer = await this.done(this.on('executor', id, 'claim', terms));
    return { id, lease_token: claimed.parse(JSON.parse(answer)).lease_token };
  }

  async inReview(): Promise<string> {
    const { id, lease_token } = await this.claimed();
    await this.done(this.on('executor', id, 'submit', { lease_token, result: 'posts.json' }));
    return id;
  }
}
