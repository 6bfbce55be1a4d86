import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { audit } from '../../support/audit.js';
import type { TestDatabase } from '../../support/database.js';
import { makeFolder } from '../../support/server.js';
import { readFirstRelease, restoreFirstRelease } from './first-release.js';
import { ADDITIVE, planted } from './planted.js';
import { nextVersion, ROOT, Service } from './service.js';

const WAIT = { timeout: 30_000, interval: 20 };

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof makeFolder>>;
let services: Service[];

beforeEach(async () => {
  [database, folder, services] = [await restoreFirstRelease(), await makeFolder(), []];
});
afterEach(async () => {
  for (const service of services) await service.stop();
  await database.drop();
  await folder.remove();
});

const answer = z.looseObject({ id: z.string().default(''), lease_token: z.number().nullish() });

/** Takes task after task through the whole loop, by the service at hand; answers what was done and what was refused. */
class Agents {
  readonly done: string[] = [];
  readonly refused: string[] = [];
  private isStopped = false;

  constructor(
    private readonly keys: Readonly<Record<'planner' | 'executor' | 'reviewer', string>>,
    public url: string,
  ) {}

  async work(): Promise<void> {
    try {
      while (!this.isStopped) await this.loop();
    } catch (error) {
      this.refused.push(String(error));
    }
  }

  stop(): void {
    this.isStopped = true;
  }

  private async loop(): Promise<void> {
    const { id } = await this.send('planner', '/v1/tasks', { title: 'Worked on throughout' });
    const { lease_token } = await this.send('executor', `/v1/tasks/${id}/claim`, {});
    await this.send('executor', `/v1/tasks/${id}/submit`, { lease_token, result: 'posts.json' });
    await this.send('reviewer', `/v1/tasks/${id}/approve`, {});
    this.done.push(id);
  }

  private async send(role: 'planner' | 'executor' | 'reviewer', path: string, body: object) {
    const reply = await fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.keys[role]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await reply.text();
    if (!reply.ok) this.refused.push(`${path}: ${text}`);
    return answer.parse(JSON.parse(text));
  }
}

it('two processes of the next version start at once on a board that is worked on: it migrates once, and nothing is lost', async () => {
  const { keys } = await readFirstRelease();
  const step = planted(ADDITIVE);
  const start = async (root: string, name: string) => {
    const service = await Service.start(root, database.url, join(folder.path, name), keys);
    services.push(service);
    return service;
  };
  const old = await start(ROOT, 'old');
  const agents = new Agents(keys, old.url);
  const hands = [agents.work(), agents.work()];
  const root = await nextVersion(folder.path, step);
  const [next] = await Promise.all([start(root, 'next'), start(root, 'beside')]);
  const before = agents.done.length;
  agents.url = next.url;
  await expect.poll(() => agents.done.length + agents.refused.length, WAIT).toBeGreaterThan(before + 10);
  agents.stop();
  await Promise.all(hands);
  expect(await old.stop()).toBe(0);

  expect(before).toBeGreaterThan(0);
  expect(agents.refused).toEqual([]);
  const applied = await database.pool.query(
    'SELECT count(*)::int AS times, count(finished_at)::int AS finished FROM _prisma_migrations WHERE migration_name = $1',
    [step.name],
  );
  expect(applied.rows).toEqual([{ times: 1, finished: 1 }]);
  const done = await database.pool.query<{ id: string }>(
    "SELECT 'task_' || id AS id FROM tasks WHERE state = 'done' AND title = 'Worked on throughout' AND planted = 'new'",
  );
  expect(done.rows.map(({ id }) => id).sort()).toEqual([...agents.done].sort());
  expect(await audit(database.pool)).toEqual({});
}, 60_000);
