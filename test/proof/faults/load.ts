import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Role } from '../../../src/kernel/actor.js';
import type { EventType } from '../../../src/kernel/event.js';
import { type Ending, send } from './client.js';
import { dice } from './dice.js';
import { Ledger } from './ledger.js';
import type { Service } from './service.js';

/** What a client thinks between two commands, so that many clients do not keep the whole machine busy. */
const THINK_MS = 10;

const created = z.object({ id: z.string() });
const given = z.object({
  claims: z.array(z.object({ lease_token: z.number(), task: created.extend({ attempt: z.number() }) })),
});

interface LoadOptions {
  readonly clients: number;
  /** The same number makes the same choices. */
  readonly seed: number;
  readonly thinkMs?: number;
}

interface Watch {
  left: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Many small clients that plan, work and review side by side. Each command has a key, under which it is sent again when its
 * outcome is unknown, and is noted with what was told of it.
 */
export class Load {
  readonly ledger = new Ledger();
  private readonly clients: Promise<void>[];
  private readonly watches = new Set<Watch>();
  private readonly thinkMs: number;
  private readonly seed: number;
  private stopped = false;
  private failure: unknown = null;
  private commands = 0;
  private repeats = 0;

  constructor(
    private readonly service: Service,
    { clients, seed, thinkMs = THINK_MS }: LoadOptions,
  ) {
    this.thinkMs = thinkMs;
    this.seed = seed;
    this.clients = Array.from({ length: clients }, (_, n) =>
      this.live(dice(seed * 1_000 + n)).catch((error: unknown) => this.fail(error)),
    );
  }

  /** Resolves when that many more commands have been acknowledged. */
  more(count: number): Promise<void> {
    if (this.failure !== null) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => this.watches.add({ left: count, resolve, reject }));
  }

  /** Lets every client come to the end of its command, and throws where one of them met what it should not. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.clients);
    if (this.failure !== null) throw this.failure;
  }

  /** What the clients have seen so far. */
  get figures(): { readonly acknowledged: number; readonly refused: number; readonly sentAgain: number } {
    const { ledger, repeats } = this;
    return { acknowledged: ledger.count('done'), refused: ledger.count('refused'), sentAgain: repeats };
  }

  private fail(error: unknown): void {
    this.failure ??= error;
    this.stopped = true;
    for (const { reject } of this.watches) reject(error);
  }

  /** One client: it plans a task, takes the next one, reports, ends its attempt, and judges it. */
  private async live(roll: () => number): Promise<void> {
    // What a test has put on the board is not for these.
    const labels = [`load ${this.seed}`];
    while (!this.stopped) {
      await this.command('planner', '/tasks', { title: 'Fetch the posts', labels }, 'task.created');
      const claim = await this.command(
        'executor',
        '/tasks/claim',
        { lease_seconds: 86_400, labels },
        'task.claimed',
      );
      const [held] = claim.status === 200 ? given.parse(JSON.parse(claim.text)).claims : [];
      if (held === undefined) continue;
      const { lease_token, task } = held;
      const on = (role: Role, command: string, fact: EventType, body: object) =>
        this.command(role, `/tasks/${task.id}/${command}`, body, fact);
      if (roll() < 0.3)
        await on('executor', 'usage', 'task.usage_reported', { lease_token, tokens: { input: 7 } });
      const way = roll();
      if (way < 0.15)
        await on('executor', 'fail', 'task.failed', { lease_token, error: { message: 'no answer' } });
      else if (way < 0.25) await on('executor', 'release', 'task.released', { lease_token });
      else {
        await on('executor', 'submit', 'task.submitted', { lease_token, result: 'posts.json' });
        const { attempt } = task;
        if (roll() < 0.6) await on('reviewer', 'approve', 'task.approved', { attempt });
        else
          await on('reviewer', 'rework', 'task.rework_requested', { attempt, reason: `not yet ${attempt}` });
      }
    }
  }

  private async command(role: Role, path: string, body: object, fact: EventType): Promise<Ending> {
    this.commands += 1;
    const id = `load-${this.seed}-${this.commands}`;
    const { service, ledger } = this;
    const ending = await send(service.url, ledger, { id, key: service.key(role), path, body, fact });
    this.repeats += ending.sent - 1;
    if (ending.status < 300 && ending.status !== 204) this.acknowledge();
    // What a load like this may be told: done, nothing to do, or too late for this task.
    if (![200, 201, 204, 409].includes(ending.status))
      throw new Error(`${path} was answered ${ending.status}: ${ending.text}`);
    await pause(this.thinkMs);
    return ending;
  }

  private acknowledge(): void {
    for (const watch of this.watches) {
      watch.left -= 1;
      if (watch.left > 0) continue;
      this.watches.delete(watch);
      watch.resolve();
    }
  }
}
