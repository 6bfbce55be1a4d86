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

describe('however much at the head of the queue an agent may not have', () => {
  let fresh: Processes;
  let plans: Agent;
  beforeAll(async () => {
    fresh = await startProcesses();
    plans = await fresh.agent('planner');
  });
  afterAll(() => fresh.close());

  const COUNT = 12_000 * Math.min(SOAK, 8);

  /** So many copies of a task before all others, with something else in their memory. */
  async function atTheHead(id: string, memory: object): Promise<void> {
    const { rows } = await fresh.pool.query<{ names: string }>(
      `SELECT string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name = 'tasks' AND column_name NOT IN ('id', 'priority', 'rank', 'memory')`,
    );
    const names = rows[0]?.names ?? '';
    await fresh.pool.query(
      `INSERT INTO tasks (id, priority, rank, memory, ${names}) SELECT gen_random_uuid(), 0, rank - priority * 2, memory || $3, ${names}
        FROM tasks, generate_series(1, $2) WHERE id = $1`,
      [id, COUNT, JSON.stringify(memory)],
    );
    await fresh.pool.query('UPDATE projects SET revision = revision + 1');
  }

  const created = async (label: string): Promise<string> => {
    const task = someNewTask({ id: newId(), labels: [label] });
    await fresh.one.send(plans, { type: 'create', tasks: [task], run: null, plan: false });
    return task.id;
  };

  it('it is given work behind that, all of it, in order, and what comes before it too', async () => {
    const label = someLabel();
    const works = await fresh.agent('executor');
    const ids = [await created(label), await created(label)];
    await atTheHead(ids[0] ?? '', { excluded: [works.agentId] });
    const next = () => fresh.one.send(works, { ...on('').claim_next, labels: [label] });
    expect(bodyOf(await next()).claims[0].task.id).toBe(`task_${ids[0]}`);
    const urgent = someNewTask({ id: newId(), labels: [label], priority: 0 });
    await fresh.one.send(plans, { type: 'create', tasks: [urgent], run: null, plan: false });
    expect(bodyOf(await next()).claims[0].task.id).toBe(`task_${urgent.id}`);
    expect(bodyOf(await next()).claims[0].task.id).toBe(`task_${ids[1]}`);
    expect(codeOf(await next())).toBe('none');
  });

  it('likewise what was assigned to others, until it is told otherwise', async () => {
    const label = someLabel();
    const [works, chosen] = [await fresh.agent('executor'), await fresh.agent('executor')];
    const last = await created(label);
    await atTheHead(last, { assigned: chosen.agentId });
    const next = (agent: Agent) => fresh.one.send(agent, { ...on('').claim_next, labels: [label] });
    const [{ task }] = bodyOf(await next(chosen)).claims;
    expect(bodyOf(await next(works)).claims[0].task.id).toBe(`task_${last}`);
    expect(codeOf(await next(works))).toBe('none');
    const id: string = task.id.replace('task_', '');
    await fresh.one.send(plans, { ...on(id).block, kind: 'needs_input' });
    await fresh.one.send(plans, { ...on(id).unblock, changes: { assignedAgentId: works.agentId } });
    expect(bodyOf(await next(works)).claims[0].task.id).toBe(task.id);
  });

  it('and likewise a review, behind what the reviewer worked on', async () => {
    const label = someLabel();
    const [works, judges] = [await fresh.agent('executor'), await fresh.agent('executor', 'reviewer')];
    const last = await created(label);
    await fresh.one.send(works, on(last).claim);
    await fresh.one.send(works, on(last).submit);
    await atTheHead(last, { workers: [judges.agentId] });
    const next = () => fresh.one.send(judges, { ...on('').claim_next, purpose: 'review', labels: [label] });
    expect(bodyOf(await next()).claims[0].task.id).toBe(`task_${last}`);
    expect(codeOf(await next())).toBe('none');
  });
  it('what is known of it is cut back when it has grown long, and nothing is lost', async () => {
    const label = someLabel();
    const works = await fresh.agent('executor');
    const made = Array.from({ length: 1_500 }, () => someNewTask({ id: newId(), labels: [label] }));
    const create = (tasks: readonly NewTask[]) =>
      fresh.one.send(plans, { type: 'create', tasks, run: null, plan: true });
    for (let i = 0; i < made.length; i += 500) await create(made.slice(i, i + 500));
    const [kept, free] = [made.slice(0, 300), made.slice(300)];
    await fresh.pool.query(
      `UPDATE tasks SET memory = jsonb_set(memory, '{excluded}', $1) WHERE id = ANY($2::uuid[])`,
      [JSON.stringify([works.agentId]), kept.map(({ id }) => id)],
    );
    await fresh.pool.query('UPDATE projects SET revision = revision + 1');
    const claim = async (max: number): Promise<string[]> => {
      const answer = await fresh.one.send(works, { ...on('').claim_next, labels: [label], max });
      if (answer.kind === 'none') return [];
      return bodyOf(answer).claims.map(({ task }: { task: { id: string } }) => task.id);
    };
    const given = await claim(1);
    const urgent = Array.from({ length: 40 }, () =>
      someNewTask({ id: newId(), labels: [label], priority: 0 }),
    );
    await create(urgent);
    for (let more = await claim(20); more.length > 0; more = await claim(20)) given.push(...more);
    const expected = [free[0], ...urgent, ...free.slice(1)];
    expect(given).toEqual(expected.map((task) => `task_${task?.id}`));
  });
});

describe('whatever happens to a queue that is longer than what is known of it', () => {
  /** What the database says is first for an agent, over the whole queue. */
  async function firstFor(agent: Agent, label: string): Promise<string | undefined> {
    const { rows } = await db.pool.query<{ id: string }>(
      `SELECT id FROM tasks WHERE queue = 'work' AND labels = $1 AND NOT memory->'excluded' ? $2
        ORDER BY rank, ready_at, id LIMIT 1`,
      [[label], agent.agentId],
    );
    return rows[0]?.id;
  }

  it('each claim is given the first of the whole queue that its agent may have', async () => {
    const label = someLabel();
    const many = (count: number) => Array.from({ length: count }, () => ({ labels: [label] }));
    const ids = await create(many(450));
    // All but each third are kept from one of the two.
    await db.pool.query(
      `UPDATE tasks SET memory = jsonb_set(memory, '{excluded}', $1) WHERE id = ANY($2::uuid[])`,
      [JSON.stringify([executor.agentId]), ids.filter((_, i) => i % 3 !== 2)],
    );
    await db.pool.query('UPDATE projects SET revision = revision + 1');
    const held: { id: string; token: number; by: Agent }[] = [];
    let given = 0;
    const pick = (step: number) => ids[(step * 7_919) % ids.length] ?? '';
    const steps: readonly ((step: number) => Promise<unknown>)[] = [
      async (step) => {
        const by = step % 3 === 0 ? other : executor;
        const expected = await firstFor(by, label);
        const answer = await one.send(by, { ...on('').claim_next, labels: [label] });
        if (expected === undefined) return expect(codeOf(answer)).toBe('none');
        const [claim] = bodyOf(answer).claims;
        expect(claim.task.id).toBe(`task_${expected}`);
        held.push({ id: expected, token: claim.lease_token, by });
        given += 1;
      },
      (step) => one.send(planner, { ...on(pick(step)).update, edit: { priority: step % 10 } }),
      (step) => one.send(planner, { ...on(pick(step)).update, edit: { title: `said better ${step}` } }),
      async () => {
        const back = held.shift();
        if (back !== undefined) await one.send(back.by, on(back.id, back.token).release);
      },
      async (step) => ids.push(...(await create([{ labels: [label], priority: step % 10 }]))),
      (step) => one.send(planner, on(pick(step)).block),
      (step) => one.send(planner, on(pick(step)).unblock),
    ];
    const turns = [0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 6];
    for (let step = 0; step < 260 * SOAK; step++)
      await steps[turns[(step * 31 + Math.floor(step / 13)) % turns.length] ?? 0]?.(step);
    expect(given).toBeGreaterThan(100);
  });

  it('the last that is known may change and stays where it is', async () => {
    const label = someLabel();
    const ids = await create(Array.from({ length: 200 }, () => ({ labels: [label] })));
    await one.send(planner, on(newId()).cancel);
    const given: string[] = [];
    for (const at of [127, 128, 199]) {
      const answer = await one.send(executor, { ...on('').claim_next, labels: [label] });
      given.push(bodyOf(answer).claims[0].task.id.replace('task_', ''));
      await one.send(planner, { ...on(ids[at] ?? '').update, edit: { title: 'said better' } });
    }
    expect([...given, ...(await taken(executor, { labels: [label] }))]).toEqual(ids);
  });
});
