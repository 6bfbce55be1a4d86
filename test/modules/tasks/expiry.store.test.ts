import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Actor, serverActor } from '../../../src/kernel/actor.js';
import { newId } from '../../../src/kernel/ids.js';
import { Board } from '../../../src/modules/tasks/board.js';
import type { Envelope } from '../../../src/modules/tasks/envelope.js';
import { load } from '../../../src/modules/tasks/load.js';
import type { Command } from '../../../src/modules/tasks/types.js';
import { someNewTask } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { type Processes, startProcesses } from '../../support/processes.js';

type Agent = Actor & { readonly agentId: string };

const on = (id: string) => commandsOn(id, 1);

let db: Processes;
let planner: Agent;
let executor: Agent;
beforeAll(async () => {
  db = await startProcesses();
  planner = await db.agent('planner');
  executor = await db.agent('executor');
});
afterAll(() => db.close());

async function created(): Promise<string> {
  const task = someNewTask({ id: newId() });
  await db.one.send(planner, { type: 'create', tasks: [task], run: null, plan: false });
  return task.id;
}

function sentBy(actor: Actor, command: Command): readonly Envelope[] {
  return [{ actor, command, idempotency: null, request: { requestId: 'test', traceId: 'test' } }];
}

describe('the time of a decision', () => {
  const options = { offsetMs: 0, lock: false, kept: new Map() };
  const BEHIND_MS = 10_000;

  /** A board that believes its last commit to be as good as now, and is that much behind. */
  async function behind(id: string): Promise<{ board: Board; now: number }> {
    const board = new Board(executor.projectId);
    await load(db.pool, board, sentBy(executor, on(id).claim), options);
    const { now } = board;
    board.clock = { database: now, steady: performance.now() + BEHIND_MS };
    return { board, now };
  }

  it("is the database's own for what the server sends, which is about a time that has passed", async () => {
    const id = await created();
    for (const command of [on(id).expire, on(id).wake]) {
      const { board, now } = await behind(id);
      await load(db.pool, board, sentBy(serverActor(executor.projectId), command), options);
      expect(board.now).toBeGreaterThanOrEqual(now);
    }
  });

  it("goes on from the last commit's for everybody else, without asking", async () => {
    const id = await created();
    const { board, now } = await behind(id);
    await load(db.pool, board, sentBy(executor, on(id).claim), options);
    expect(board.now).toBeLessThan(now);
  });
});

describe('a commit', () => {
  it('says how long until its lease runs out from when it was made, not from when it was decided', async () => {
    const id = await created();
    const sentAt = performance.now();
    await db.one.send(executor, on(id).claim);
    const took = performance.now() - sentAt;
    const { now = 0, dueAt } = db.one.commits.at(-1) ?? {};
    const { rows } = await db.pool.query<{ started: Date }>(
      'SELECT lease_started_at AS started FROM tasks WHERE id = $1',
      [id],
    );
    const started = rows[0]?.started.getTime() ?? 0;
    expect(dueAt).toBe(started + 300_000);
    expect(now).toBeGreaterThan(started);
    expect(now - started).toBeLessThanOrEqual(took);
  });
});
