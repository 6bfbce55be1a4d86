import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Actor } from '../../../src/kernel/actor.js';
import { fromWire, newId } from '../../../src/kernel/ids.js';
import type { NewTask } from '../../../src/modules/tasks/types.js';
import { someNewTask, someUsage } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { bodyOf, codeOf, type Process, type Processes, startProcesses } from '../../support/processes.js';
import { SOAK } from '../../support/soak.js';

type Agent = Actor & { readonly agentId: string };

let db: Processes;
let planner: Agent;
let reviewer: Agent;
const workers: Agent[] = [];
beforeAll(async () => {
  db = await startProcesses(3);
  planner = await db.agent('planner');
  reviewer = await db.agent('reviewer');
  for (let made = 0; made < 6; made += 1) workers.push(await db.agent('executor'));
});
afterEach(async () => expect(await db.audit()).toEqual({}));
afterAll(() => db.close());

const on = (id: string, token = 1) => commandsOn(id, token);
/** The n-th of the processes, round and round. */
function desk(n: number): Process {
  return db.all[n % db.all.length] ?? db.one;
}

async function created(over: Partial<NewTask> = {}): Promise<string> {
  const task = someNewTask({ id: newId(), limits: { maxAttempts: 1_000, maxReworks: 100 }, ...over });
  const answer = await desk(0).send(planner, { type: 'create', tasks: [task], run: null, plan: false });
  expect(codeOf(answer)).toBe('created');
  return task.id;
}

async function rowOf(id: string) {
  const { rows } = await db.pool.query(
    'SELECT state, attempt, rework_total, tokens_used::int, event_number FROM tasks WHERE id = $1',
    [id],
  );
  return rows[0];
}

describe('several processes over one database', () => {
  it('give one task to one of six hands', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = await created();
      const answers = await Promise.all(workers.map((worker, n) => desk(n).send(worker, on(id).claim)));
      expect(answers.map(codeOf).sort()).toEqual([...Array(5).fill('already_claimed'), 'done']);
      expect(await rowOf(id)).toMatchObject({ state: 'in_progress', attempt: 1 });
    }
  });

  it('record one verdict of six', async () => {
    const id = await created();
    await desk(0).send(workers[0] ?? planner, on(id).claim);
    await desk(1).send(workers[0] ?? planner, on(id).submit);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        desk(n).send(reviewer, n % 2 === 0 ? on(id).rework : on(id).approve),
      ),
    );
    expect(answers.map(codeOf).sort()).toEqual(['done', ...Array(5).fill('verdict_already_recorded')]);
  });

  it('lose no increment', async () => {
    const id = await created({ limits: { maxTokens: 1_000_000 } });
    const [worker = planner] = workers;
    await desk(0).send(worker, on(id).claim);
    const reports = 60;
    const answers = await Promise.all(
      Array.from({ length: reports }, (_, n) =>
        desk(n).send(worker, { ...on(id).report_usage, usage: someUsage(7) }),
      ),
    );
    expect(answers.every(({ kind }) => kind === 'done')).toBe(true);
    expect(await rowOf(id)).toMatchObject({ tokens_used: reports * 7, event_number: reports + 2 });
  });

  it('make one task of one dedupe key, and one change of one retry key', async () => {
    const create = (n: number) =>
      desk(n).send(planner, {
        type: 'create',
        tasks: [someNewTask({ id: newId(), dedupeKey: 'everywhere' })],
        run: null,
        plan: false,
      });
    const made = await Promise.all(Array.from({ length: 9 }, (_, n) => create(n)));
    expect(made.map(codeOf).sort()).toEqual(['created', ...Array(8).fill('duplicate')]);

    const id = await created();
    const [worker = planner] = workers;
    await desk(0).send(worker, on(id).claim);
    await desk(1).send(worker, on(id).submit);
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, n) => desk(n).send(reviewer, on(id).rework, 'everywhere')),
    );
    const replayed = answers.filter((answer) => answer.kind === 'done' && answer.replayed);
    expect(replayed).toHaveLength(8);
    expect(new Set(answers.map((answer) => JSON.stringify(bodyOf(answer)))).size).toBe(1);
    expect(await rowOf(id)).toMatchObject({ state: 'rework', rework_total: 1 });
  });

  it('refuse what a process that knows less would allow', async () => {
    const id = await created();
    const [first = planner, second = planner] = workers;
    // Both know the task; then one of them changes it.
    await desk(0).send(first, on(newId()).claim);
    await desk(1).send(planner, { ...on(id).update, edit: { description: 'known here' } });
    await desk(0).send(first, on(id).claim);
    expect(codeOf(await desk(1).send(second, on(id).claim))).toBe('already_claimed');
    await desk(1).send(planner, on(id).cancel);
    expect(codeOf(await desk(0).send(first, on(id).submit))).toBe('done');
    expect(await rowOf(id)).toMatchObject({ state: 'cancelled' });
  });

  it('let one probe through a breaker that is half open, however many ask', async () => {
    const [first = planner, second = planner] = workers;
    for (let n = 0; n < 5; n += 1) {
      const id = await created();
      const worker = n % 2 === 0 ? first : second;
      await desk(n).send(worker, on(id).claim);
      expect(codeOf(await desk(n + 1).send(worker, on(id).fail))).toBe('done');
    }
    expect(codeOf(await desk(2).send(first, on('').claim_next))).toBe('fleet_breaker_open');
    db.clock.advance(301);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => desk(n).send(workers[n % 6] ?? planner, on('').claim_next)),
    );
    expect(answers.map(codeOf).sort()).toEqual(['done', ...Array(19).fill('fleet_breaker_open')]);
    const [given] = answers.flatMap((answer) => (answer.kind === 'done' ? bodyOf(answer).claims : []));
    const prober = workers.find(({ agentId }) => given.task.claimed_by === `agt_${agentId}`) ?? planner;
    const probe = fromWire('task', given.task.id) ?? '';
    expect(codeOf(await desk(1).send(prober, on(probe, given.lease_token).submit))).toBe('done');
    expect(codeOf(await desk(0).send(second, on('').claim_next))).toBe('done');
  });

  it('share a queue: every task once', async () => {
    const label = 'shared';
    const tasks = Array.from({ length: 60 }, () => someNewTask({ id: newId(), labels: [label] }));
    await desk(0).send(planner, { type: 'create', tasks, run: null, plan: true });
    const taken: string[] = [];
    await Promise.all(
      workers.map(async (worker, n) => {
        for (;;) {
          const answer = await desk(n).send(worker, { ...on('').claim_next, labels: [label], max: 3 });
          if (answer.kind === 'none') return;
          for (const { task } of bodyOf(answer).claims) taken.push(task.id);
        }
      }),
    );
    expect(taken).toHaveLength(60);
    expect(new Set(taken).size).toBe(60);
  });

  it('hammering the same tasks with everything leave rows and log in agreement', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => created({ labels: ['hammered'] })));
    let granted = 0;
    const hammer = async (worker: Agent, n: number): Promise<void> => {
      for (let round = 0; round < 25 * SOAK; round += 1) {
        const id = ids[(round + n) % ids.length] ?? '';
        const claimed = await desk(n + round).send(worker, on(id).claim);
        if (claimed.kind !== 'done') {
          await desk(n).send(reviewer, on(id).rework);
          continue;
        }
        granted += 1;
        const token: number = bodyOf(claimed).lease_token;
        const end = (['submit', 'release', 'submit'] as const)[round % 3] ?? 'submit';
        expect(codeOf(await desk(n).send(worker, on(id, token)[end]))).toBe('done');
      }
    };
    await Promise.all(workers.map(hammer));
    const rows = await Promise.all(ids.map(rowOf));
    expect(rows.reduce((sum, row) => sum + row.attempt, 0)).toBe(granted);
  });
});
