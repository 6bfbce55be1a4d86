import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Actor } from '../../../src/kernel/actor.js';
import { newId } from '../../../src/kernel/ids.js';
import type { CommandOf, NewTask } from '../../../src/modules/tasks/types.js';
import { someNewTask } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { bodyOf, codeOf, type Process, type Processes, startProcesses } from '../../support/processes.js';
import { SOAK } from '../../support/soak.js';

type Agent = Actor & { readonly agentId: string };

let db: Processes;
let one: Process;
let planner: Agent;
let executor: Agent;
let other: Agent;
let reviewer: Agent;
beforeAll(async () => {
  db = await startProcesses(1, { batchMax: 1_000 });
  ({ one } = db);
  planner = await db.agent('planner');
  executor = await db.agent('executor');
  other = await db.agent('executor');
  reviewer = await db.agent('reviewer');
});
afterEach(async () => expect(await db.audit()).toEqual({}));
afterAll(() => db.close());

let labels = 0;
/** A label that no other test's tasks have. */
const someLabel = () => {
  labels += 1;
  return `queue ${labels}`;
};
const on = (id: string, token = 1) => commandsOn(id, token);

async function create(tasks: readonly Partial<NewTask>[], run: string | null = null): Promise<string[]> {
  const made = tasks.map((over) => someNewTask({ id: newId(), ...over }));
  const planned =
    run === null ? null : { id: newId(), name: run, limits: {}, iterationMode: 'total', deadlineAt: null };
  const command: CommandOf<'create'> = {
    type: 'create',
    tasks: made,
    run: planned === null ? null : { ...planned, iterationMode: 'total' },
    plan: true,
  };
  expect(codeOf(await one.send(planner, command))).toBe('created');
  return made.map(({ id }) => id);
}

/** What one agent is given, one after another, until there is nothing. */
async function taken(agent: Actor, over: Partial<CommandOf<'claim_next'>>): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const answer = await one.send(agent, { ...on('').claim_next, ...over });
    if (answer.kind === 'none') return ids;
    for (const { task } of bodyOf(answer).claims) ids.push(task.id.replace('task_', ''));
  }
}

describe('claim order', () => {
  it('is priority first, then rework before pending, then the oldest ready', async () => {
    const label = someLabel();
    const [sentBack, late, early, urgent, last] = await create([
      { priority: 5, labels: [label] },
      { priority: 5, labels: [label] },
      { priority: 5, labels: [label] },
      { priority: 0, labels: [label] },
      { priority: 9, labels: [label] },
    ]);
    if (sentBack === undefined || late === undefined) throw new Error('nothing was made');
    await one.send(executor, on(sentBack).claim);
    await one.send(executor, on(sentBack).submit);
    await one.send(reviewer, on(sentBack).rework);
    await one.send(executor, on(late).claim);
    await one.send(executor, on(late).release);
    expect(await taken(other, { labels: [label] })).toEqual([urgent, sentBack, early, late, last]);
  });

  it('is the same whether asked one by one or for many at once', async () => {
    const label = someLabel();
    const ids = await create(Array.from({ length: 30 }, (_, i) => ({ priority: i % 10, labels: [label] })));
    const expected = [...ids.keys()].sort((a, b) => (a % 10) - (b % 10) || a - b).map((i) => ids[i]);
    expect(await taken(executor, { labels: [label], max: 7 })).toEqual(expected);
  });

  it('changes with the priority of a task that waits', async () => {
    const label = someLabel();
    const [a, b] = await create([{ labels: [label] }, { labels: [label] }]);
    await one.send(planner, { ...on(b ?? '').update, edit: { priority: 1 } });
    expect(await taken(executor, { labels: [label] })).toEqual([b, a]);
  });

  it('of reviews is the same, and passes over what the reviewer worked on', async () => {
    const label = someLabel();
    const both = await db.agent('executor', 'reviewer');
    const [a, b, c] = await create(Array.from({ length: 3 }, () => ({ labels: [label] })));
    const work = async (agent: Actor, id: string | undefined) => {
      await one.send(agent, { ...on(id ?? '').claim, purpose: 'work' });
      await one.send(agent, on(id ?? '').submit);
    };
    await work(executor, b);
    await work(both, a);
    await work(executor, c);
    const review = { labels: [label], purpose: 'review' as const };
    expect(await taken(both, review)).toEqual([b, c]);
    expect(await taken(reviewer, review)).toEqual([a]);
  });
});

describe('which tasks', () => {
  it('every label that is asked for must be on the task', async () => {
    const [x, y] = [someLabel(), someLabel()];
    const [, both] = await create([{ labels: [x] }, { labels: [y, x] }, { labels: [y] }]);
    expect(await taken(executor, { labels: [x, y] })).toEqual([both]);
  });

  it('those of the run that is named, and a run that is not there is told', async () => {
    const label = someLabel();
    const ids = await create([{ labels: [label] }, { labels: [label] }], 'a night');
    await create([{ labels: [label] }]);
    const { rows } = await db.pool.query<{ id: string }>(`SELECT id FROM runs WHERE name = 'a night'`);
    expect(await taken(executor, { runId: rows[0]?.id ?? '' })).toEqual(ids);
    const nowhere = await one.send(executor, { ...on('').claim_next, runId: newId() });
    expect(codeOf(nowhere)).toBe('not_found');
  });

  it('a task with a time waits for it, also when it was given back before', async () => {
    const label = someLabel();
    const { rows } = await db.pool.query<{ ms: number }>(
      `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`,
    );
    const notBefore = Math.floor(rows[0]?.ms ?? 0) + 60_000;
    const [timed = '', held = ''] = await create([{ labels: [label], notBefore }, { labels: [label] }]);
    expect(codeOf(await one.send(executor, on(timed).claim))).toBe('not_yet_due');
    await one.send(executor, on(held).claim);
    await one.send(planner, { ...on(held).update, edit: { notBefore } });
    await one.send(executor, on(held).release);
    expect(await taken(executor, { labels: [label] })).toEqual([]);
    db.clock.advance(61);
    await one.tasks.sweep();
    expect(await taken(executor, { labels: [label] })).toEqual([timed, held].sort());
  });
});

describe('a queue that is used up within one batch', () => {
  it('still has what the batch itself gave back', async () => {
    const label = someLabel();
    const ids = await create(Array.from({ length: 141 }, () => ({ labels: [label] })));
    const [held = ''] = ids;
    await one.send(other, on(held).claim);
    const next = () => one.send(executor, { ...on('').claim_next, labels: [label] });
    const before = one.commits.length;
    const [released, ...answers] = await Promise.all([
      one.send(other, on(held).release),
      ...Array.from({ length: 150 }, next),
    ]);
    expect(one.commits.length).toBe(before + 1);
    expect(codeOf(released)).toBe('done');
    const got = answers
      .filter(({ kind }) => kind === 'done')
      .map((answer) => bodyOf(answer).claims[0].task.id);
    expect(new Set(got).size).toBe(141);
    expect(got).toContain(`task_${held}`);
  });

  it('or made', async () => {
    const label = someLabel();
    await create(Array.from({ length: 140 }, () => ({ labels: [label] })));
    const next = () => one.send(executor, { ...on('').claim_next, labels: [label] });
    const [, ...answers] = await Promise.all([
      create([{ labels: [label], priority: 9 }]),
      ...Array.from({ length: 141 }, next),
    ]);
    expect(answers.filter(({ kind }) => kind === 'done')).toHaveLength(141);
    expect(codeOf(await next())).toBe('none');
  });
});

describe('change of hands', () => {
  const back = async (id: string, token: number, agent: Actor) => {
    expect(codeOf(await one.send(agent, on(id).claim))).toBe('done');
    expect(codeOf(await one.send(agent, on(id, token).submit))).toBe('done');
    expect(codeOf(await one.send(reviewer, on(id).rework))).toBe('done');
  };

  it('an executor is passed over once a task came back three times, while another is about', async () => {
    const label = someLabel();
    const [id = ''] = await create([{ labels: [label] }]);
    for (const token of [1, 2]) await back(id, token, executor);
    const next = (agent: Actor) => one.send(agent, { ...on('').claim_next, labels: [label] });
    expect(codeOf(await next(executor))).toBe('done');
    await one.send(executor, on(id, 3).submit);
    await one.send(reviewer, on(id).rework);
    expect(codeOf(await next(executor))).toBe('none');
    expect(codeOf(await next(other))).toBe('done');
  });

  it('for half an hour at most; and a claim by id is deliberate', async () => {
    const label = someLabel();
    const ids = await create([{ labels: [label] }, { labels: [label] }]);
    for (const id of ids) for (const token of [1, 2, 3]) await back(id, token, executor);
    const [a = '', b = ''] = ids;
    expect(codeOf(await one.send(executor, on(a).claim))).toBe('done');
    const next = () => one.send(executor, { ...on('').claim_next, labels: [label] });
    expect(codeOf(await next())).toBe('none');
    db.clock.advance(1_790);
    expect(codeOf(await next())).toBe('none');
    db.clock.advance(20);
    expect(bodyOf(await next()).claims[0].task.id).toBe(`task_${b}`);
  });
});

describe('a look at what could be claimed', () => {
  it('counts it, and says what keeps the rest', async () => {
    const fresh = await startProcesses();
    const [plans, works, judges] = [
      await fresh.agent('planner'),
      await fresh.agent('executor'),
      await fresh.agent('reviewer'),
    ];
    const make = async (over: Partial<NewTask> = {}) => {
      const task = someNewTask({ id: newId(), ...over });
      await fresh.one.send(plans, { type: 'create', tasks: [task], run: null, plan: false });
      return task.id;
    };
    const a = await make();
    await make({ dependsOn: [a] });
    await make({ notBefore: Date.now() + 3_600_000 });
    const blocked = await make();
    await fresh.one.send(plans, on(blocked).block);
    const done = await make();
    await fresh.one.send(works, on(done).claim);
    await fresh.one.send(works, on(done).submit);
    expect(await fresh.one.tasks.reads.claimable(works, 'work')).toMatchObject({
      claimable: 1,
      in_progress: 0,
      in_review: 1,
      why_not: { blocked: 1, dependencies: 1, not_before: 1, run_tripped: 0, excluded: 0 },
      counted_all: true,
    });
    expect(await fresh.one.tasks.reads.claimable(judges, 'review')).toMatchObject({ claimable: 1 });
    await fresh.one.send(judges, { ...on(done).claim, purpose: 'review' });
    expect(await fresh.one.tasks.reads.claimable(judges, 'review')).toMatchObject({
      claimable: 0,
      why_not: { under_review: 1, self_review: 0, no_reviewer_left: 0 },
    });
    await fresh.close();
  });
});

describe('behind tasks that an agent may not have', () => {
  /** So many tasks at the head that are not for `executor`, and one behind them that is. */
  async function behind(count: number): Promise<{ label: string; last: string }> {
    const label = someLabel();
    for (let made = 0; made < count; made += 500)
      await create(
        Array.from({ length: Math.min(500, count - made) }, () => ({ labels: [label], priority: 1 })),
      );
    const [last = ''] = await create([{ labels: [label] }]);
    await db.pool.query(
      `UPDATE tasks SET memory = jsonb_set(memory, '{excluded}', $1) WHERE labels = $2 AND id <> $3`,
      [JSON.stringify([executor.agentId]), [label], last],
    );
    // As if another process had done it.
    await db.pool.query('UPDATE projects SET revision = revision + 1');
    return { label, last };
  }

  it.each(SOAK === 1 ? [200, 1_200] : [200, 1_200, 7_000])('there is one, behind %i', async (count) => {
    const { label, last } = await behind(count);
    const [, , found] = await Promise.all([
      create([{ labels: [label], priority: 0 }]),
      one.send(other, { ...on('').claim_next, labels: [label] }),
      one.send(executor, { ...on('').claim_next, labels: [label] }),
      create([{ labels: [label], priority: 1, notBefore: Date.now() + 1e9 }]),
    ]);
    const token: number = bodyOf(found).claims[0].lease_token;
    expect(bodyOf(found).claims[0].task.id).toBe(`task_${last}`);
    await one.send(executor, on(last, token).release);
    expect(await taken(executor, { labels: [label] })).toEqual([last]);
    expect(await taken(executor, { labels: [label] })).toEqual([]);
    const next = await one.send(other, { ...on('').claim_next, labels: [label], max: 20 });
    expect(bodyOf(next).claims).toHaveLength(20);
  });
});
