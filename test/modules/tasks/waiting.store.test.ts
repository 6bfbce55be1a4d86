import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Actor } from '../../../src/kernel/actor.js';
import type { Answer } from '../../../src/kernel/answer.js';
import { newId } from '../../../src/kernel/ids.js';
import type { CommandOf, NewTask } from '../../../src/modules/tasks/types.js';
import { someNewTask } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { bodyOf, codeOf, type Process, type Processes, startProcesses } from '../../support/processes.js';

type Agent = Actor & { readonly agentId: string };

/** A claim that was not woken looks again by itself after 5 seconds: these tests end before. */
const PROMPTLY = { timeout: 4_000 };
const WAIT_MS = 30_000;

let db: Processes;
let one: Process;
let planner: Agent;
let executor: Agent;
let other: Agent;
let reviewer: Agent;
beforeAll(async () => {
  db = await startProcesses();
  ({ one } = db);
  planner = await db.agent('planner');
  executor = await db.agent('executor');
  other = await db.agent('executor');
  reviewer = await db.agent('reviewer');
});
afterEach(async () => expect(await db.audit()).toEqual({}));
afterAll(() => db.close());

const on = (id: string, token = 1) => commandsOn(id, token);
let labels = 0;
const someLabel = () => {
  labels += 1;
  return `waits ${labels}`;
};

async function create(over: Partial<NewTask> = {}): Promise<string> {
  const task = someNewTask({ id: newId(), ...over });
  await one.send(planner, { type: 'create', tasks: [task], run: null, plan: false });
  return task.id;
}

function waiting(
  label: string,
  agent: Actor = executor,
  over: Partial<CommandOf<'claim_next'>> = {},
): { answer: Promise<Answer>; hangUp: () => void } {
  const controller = new AbortController();
  const command = { ...on('').claim_next, labels: [label], ...over };
  return {
    answer: one.claim(agent, command, WAIT_MS, controller.signal),
    hangUp: () => controller.abort(),
  };
}

/** Whoever waits has looked, and waits. */
async function settled(): Promise<void> {
  await one.send(planner, on(newId()).cancel);
  await new Promise(setImmediate);
}

const takenBy = async (claim: { answer: Promise<Answer> }): Promise<string> =>
  bodyOf(await claim.answer).claims[0].task.id.replace('task_', '');

describe('a claim that waits is woken', PROMPTLY, () => {
  it('by a task that is created', async () => {
    const label = someLabel();
    const claim = waiting(label);
    await settled();
    const id = await create({ labels: [label] });
    expect(await takenBy(claim)).toBe(id);
  });

  it('by one that is created in the batch in which it looked in vain', async () => {
    const label = someLabel();
    const claim = waiting(label);
    const id = await create({ labels: [label] });
    expect(await takenBy(claim)).toBe(id);
  });

  it('by one that is given back, fails, or is sent back', async () => {
    for (const end of ['release', 'fail'] as const) {
      const label = someLabel();
      const id = await create({ labels: [label] });
      await one.send(other, on(id).claim);
      const claim = waiting(label);
      await settled();
      await one.send(other, on(id)[end]);
      expect(await takenBy(claim)).toBe(id);
    }
  });

  it('by an unblock', async () => {
    const label = someLabel();
    const id = await create({ labels: [label] });
    await one.send(planner, on(id).block);
    const claim = waiting(label);
    await settled();
    await one.send(planner, on(id).unblock);
    expect(await takenBy(claim)).toBe(id);
  });

  it('by the last dependency', async () => {
    const label = someLabel();
    const first = await create();
    const id = await create({ labels: [label], dependsOn: [first] });
    const claim = waiting(label, other);
    await one.send(executor, on(first).claim);
    await one.send(executor, on(first).submit);
    await settled();
    await one.send(reviewer, on(first).approve);
    expect(await takenBy(claim)).toBe(id);
  });

  it('by a lease that runs out, and by a time that comes', async () => {
    const label = someLabel();
    const id = await create({ labels: [label] });
    await one.send(other, on(id).claim);
    const claim = waiting(label);
    await settled();
    db.clock.advance(301);
    await one.tasks.sweep();
    expect(await takenBy(claim)).toBe(id);
    await one.send(executor, { ...on(id, 2).fail, retryAfterSeconds: 60 });
    const again = waiting(label);
    await settled();
    db.clock.advance(61);
    await one.tasks.sweep();
    expect(await takenBy(again)).toBe(id);
  });

  it('by a result, when it waits for reviews', async () => {
    const label = someLabel();
    const id = await create({ labels: [label] });
    const claim = waiting(label, reviewer, { purpose: 'review' });
    await one.send(executor, on(id).claim);
    await settled();
    await one.send(executor, on(id).submit);
    expect(await takenBy(claim)).toBe(id);
  });

  it('by what another process did, once that is heard of', async () => {
    const label = someLabel();
    const claim = waiting(label);
    await settled();
    const fresh = await db.agent('executor');
    const id = newId();
    const [elsewhere = one] = db.all.slice(1);
    await elsewhere.send(planner, {
      type: 'create',
      tasks: [someNewTask({ id, labels: [label] })],
      run: null,
      plan: false,
    });
    one.tasks.heard(fresh.projectId);
    expect(await takenBy(claim)).toBe(id);
  });
});

describe('a crowd that waits', PROMPTLY, () => {
  it('of ten shares ten tasks', async () => {
    const label = someLabel();
    const claims = Array.from({ length: 10 }, () => waiting(label));
    await settled();
    const ids = await Promise.all(Array.from({ length: 10 }, () => create({ labels: [label] })));
    const got = await Promise.all(claims.map(takenBy));
    expect(got.sort()).toEqual(ids.sort());
  });

  it('passes a task on to the one that wants it', async () => {
    const [wanted, unwanted] = [someLabel(), someLabel()];
    const others = Array.from({ length: 5 }, () => waiting(unwanted));
    const claim = waiting(wanted);
    await settled();
    const id = await create({ labels: [wanted] });
    expect(await takenBy(claim)).toBe(id);
    for (const { hangUp } of others) hangUp();
    expect((await Promise.all(others.map(({ answer }) => answer))).map(codeOf)).toEqual(
      Array(5).fill('none'),
    );
  });

  it('passes it on when the one that was woken has hung up', async () => {
    const label = someLabel();
    const [gone, stays] = [waiting(label), waiting(label)];
    await settled();
    const made = create({ labels: [label] });
    gone.hangUp();
    expect(codeOf(await gone.answer)).toBe('none');
    expect(await takenBy(stays)).toBe(await made);
  });
});

describe('whoever hangs up', PROMPTLY, () => {
  it('is answered with nothing, and is given nothing any more', async () => {
    const label = someLabel();
    const claim = waiting(label);
    await settled();
    claim.hangUp();
    expect(codeOf(await claim.answer)).toBe('none');
    const id = await create({ labels: [label] });
    await settled();
    const { rows } = await db.pool.query('SELECT state FROM tasks WHERE id = $1', [id]);
    expect(rows).toEqual([{ state: 'pending' }]);
  });

  it('before it waited, too', async () => {
    const claim = waiting(someLabel());
    claim.hangUp();
    expect(codeOf(await claim.answer)).toBe('none');
  });
});

it('a service that closes answers everybody who waits', PROMPTLY, async () => {
  const closing = await startProcesses();
  const agent = await closing.agent('executor');
  const { signal } = new AbortController();
  const claims = Array.from({ length: 3 }, () =>
    closing.one.claim(agent, on('').claim_next, WAIT_MS, signal),
  );
  await closing.one.send(agent, on(newId()).cancel);
  await closing.one.tasks.close();
  expect((await Promise.all(claims)).map(codeOf)).toEqual(['none', 'none', 'none']);
  expect(codeOf(await closing.one.claim(agent, on('').claim_next, WAIT_MS, signal))).toBe('none');
  await closing.close();
});
