import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Actor } from '../../../src/kernel/actor.js';
import type { Answer } from '../../../src/kernel/answer.js';
import { newId } from '../../../src/kernel/ids.js';
import type { NewTask } from '../../../src/modules/tasks/types.js';
import { someNewTask, someUsage } from '../../support/builders.js';
import { commandsOn } from '../../support/commands.js';
import { bodyOf, codeOf, type Process, type Processes, startProcesses } from '../../support/processes.js';

type Agent = Actor & { readonly agentId: string };

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

const fresh = (over: Partial<NewTask> = {}) => someNewTask({ id: newId(), ...over });
const create = (...tasks: NewTask[]) => one.send(planner, { type: 'create', tasks, run: null, plan: false });
const on = (id: string, token = 1) => commandsOn(id, token);

async function created(over: Partial<NewTask> = {}): Promise<string> {
  const task = fresh(over);
  expect(codeOf(await create(task))).toBe('created');
  return task.id;
}

async function inReview(over: Partial<NewTask> = {}): Promise<string> {
  const id = await created(over);
  await one.send(executor, on(id).claim);
  expect(codeOf(await one.send(executor, on(id).submit))).toBe('done');
  return id;
}

/** Sends everything in one turn, so that it goes as one batch; answers with what each was told. */
async function together(...sent: readonly Promise<Answer>[]): Promise<string[]> {
  const before = one.commits.length;
  const answers = await Promise.all(sent);
  expect(one.commits.length - before).toBeLessThanOrEqual(1);
  return answers.map(codeOf);
}

async function unmet(id: string): Promise<number> {
  const { rows } = await db.pool.query<{ unmet: number }>('SELECT unmet FROM tasks WHERE id = $1', [id]);
  return rows[0]?.unmet ?? -1;
}

describe('commands that arrive together', () => {
  it('each get their own answer, in one commit', async () => {
    const [a, b] = [await created(), await created()];
    const answers = await together(
      one.send(executor, on(a).claim),
      one.send(other, on(a).claim),
      one.send(other, on(b).claim),
      one.send(reviewer, on(b).approve),
      one.send(executor, on(newId()).claim),
      one.send(planner, on(a).unblock),
      one.send(reviewer, on(b).cancel),
      create(fresh()),
    );
    expect(answers).toEqual([
      'done',
      'already_claimed',
      'done',
      'invalid_transition',
      'not_found',
      'invalid_transition',
      'forbidden_role',
      'created',
    ]);
  });

  it('see what those before them did', async () => {
    const id = await created();
    const answers = await together(
      one.send(executor, on(id).claim),
      one.send(executor, on(id).submit),
      one.send(reviewer, on(id).rework),
      one.send(other, on(id).claim),
      one.send(other, on(id, 2).submit),
      one.send(reviewer, on(id).approve),
      one.send(planner, on(id).cancel),
    );
    expect(answers).toEqual(['done', 'done', 'done', 'done', 'done', 'done', 'invalid_transition']);
  });

  it('a hundred claims of the next take a hundred tasks, none twice', async () => {
    await create(...Array.from({ length: 100 }, () => fresh({ labels: ['hundred'] })));
    const next = { ...on('').claim_next, labels: ['hundred'] };
    const answers = await Promise.all(Array.from({ length: 110 }, () => one.send(executor, next)));
    const taken = answers
      .filter(({ kind }) => kind === 'done')
      .map((answer) => bodyOf(answer).claims[0].task.id);
    expect(new Set(taken).size).toBe(100);
    expect(answers.filter(({ kind }) => kind === 'none')).toHaveLength(10);
  });

  it('a poisoned one fails alone', async () => {
    const id = await created();
    const poisons = [
      { title: 'a NUL \u0000 that Postgres refuses' },
      { priority: 12 },
      { id: 'no id at all' },
      { dependsOn: ['no id at all'] },
    ];
    const results = await Promise.allSettled([
      create(fresh()),
      ...poisons.map((poison) => create(fresh(poison))),
      one.send(executor, on(id).claim),
      one.send(executor, { ...on(id).submit, result: 'a NUL \u0000 that Postgres refuses' }),
      create(fresh()),
    ]);
    const outcomes = results.map((result) =>
      result.status === 'fulfilled' ? codeOf(result.value) : 'failed',
    );
    expect(outcomes).toEqual(['created', ...poisons.map(() => 'failed'), 'done', 'failed', 'created']);
    expect(codeOf(await one.send(executor, on(id).submit))).toBe('done');
  });
});

describe('within one batch', () => {
  it('a task that is created waits for one that is then approved, and may start', async () => {
    const a = await inReview();
    const t = fresh({ dependsOn: [a] });
    expect(await together(create(t), one.send(reviewer, on(a).approve))).toEqual(['created', 'done']);
    expect(await unmet(t.id)).toBe(0);
    expect(codeOf(await one.send(executor, on(t.id).claim))).toBe('done');
  });

  it('a task that stops waiting for one is not counted down by its approval', async () => {
    const [a, b] = [await inReview(), await created()];
    const t = await created({ dependsOn: [a] });
    const turn = { ...on(t).update, edit: { dependsOn: [b] } };
    expect(await together(one.send(planner, turn), one.send(reviewer, on(a).approve))).toEqual([
      'done',
      'done',
    ]);
    expect(await unmet(t)).toBe(1);
    expect(codeOf(await one.send(executor, on(t).claim))).toBe('dependency_unmet');
  });

  it('a task that begins and stops to wait for one does not wait for it', async () => {
    const a = await inReview();
    const t = await created();
    const edit = (dependsOn: string[]) => one.send(planner, { ...on(t).update, edit: { dependsOn } });
    expect(await together(edit([a]), edit([]))).toEqual(['done', 'done']);
    expect(await together(edit([a]), edit([]), edit([a]))).toEqual(['done', 'done', 'done']);
    await one.send(reviewer, on(a).approve);
    expect(await unmet(t)).toBe(0);
  });

  it('two changes that would close a circle: the second is refused', async () => {
    const [a, b] = [await created(), await created()];
    const wait = (id: string, dependsOn: string[]) =>
      one.send(planner, { ...on(id).update, edit: { dependsOn } });
    expect(await together(wait(a, [b]), wait(b, [a]))).toEqual(['done', 'dependency_cycle']);
  });

  it('a dedupe key is taken once, and free again behind an approval', async () => {
    const task = () => fresh({ dedupeKey: 'together' });
    expect(await together(create(task()), create(task()))).toEqual(['created', 'duplicate']);
    const id = await inReview({ dedupeKey: 'handed on' });
    const next = fresh({ dedupeKey: 'handed on' });
    expect(await together(one.send(reviewer, on(id).approve), create(next))).toEqual(['done', 'created']);
  });

  it('a task is replaced and its key taken over', async () => {
    const id = await created({ dedupeKey: 'replaced' });
    const next = fresh({ dedupeKey: 'replaced', supersedes: id });
    const late = fresh({ dedupeKey: 'replaced', supersedes: id });
    expect(await together(create(next), create(late))).toEqual(['created', 'duplicate']);
  });

  it('two reports on an earlier attempt are both counted on it', async () => {
    const id = await created();
    await one.send(executor, on(id).claim);
    await one.send(executor, on(id).release);
    await one.send(other, on(id).claim);
    const report = { ...on(id).report_usage, attempt: 1, usage: someUsage(100) };
    expect(await together(one.send(executor, report), one.send(executor, report))).toEqual(['done', 'done']);
    const { rows } = await db.pool.query(
      `SELECT (usage->'tokens'->>'input')::int AS input FROM attempts WHERE task_id = $1 ORDER BY number`,
      [id],
    );
    expect(rows).toEqual([{ input: 200 }, { input: 0 }]);
  });

  it('two late results: the first is kept', async () => {
    const id = await created();
    await one.send(executor, on(id).claim);
    await one.send(executor, on(id).release);
    const late = (result: string) => one.send(executor, { ...on(id).submit, result });
    expect(await together(late('first'), late('second'))).toEqual(['lease_lost', 'lease_lost']);
    const { rows } = await db.pool.query('SELECT late_result FROM attempts WHERE task_id = $1', [id]);
    expect(rows).toEqual([{ late_result: 'first' }]);
  });

  it('a report on an attempt is counted on it, though the next one has begun meanwhile', async () => {
    const id = await created();
    await one.send(executor, on(id).claim);
    await one.send(executor, on(id).release);
    const report = (by: object) =>
      one.send(executor, { ...on(id).report_usage, ...by, usage: someUsage(100) });
    const next = one.send(other, on(id).claim);
    expect(await together(next, report({ leaseToken: 1 }), report({ attempt: 1 }))).toEqual([
      'done',
      'done',
      'done',
    ]);
    const { rows } = await db.pool.query(
      `SELECT (usage->'tokens'->>'input')::int AS input FROM attempts WHERE task_id = $1 ORDER BY number`,
      [id],
    );
    expect(rows).toEqual([{ input: 200 }, { input: 0 }]);
  });

  it('a result that comes too late is kept, though its lease was given back only just before', async () => {
    const id = await created();
    await one.send(executor, on(id).claim);
    const late = (result: string) => one.send(executor, { ...on(id).submit, result });
    const release = one.send(executor, on(id).release);
    expect(await together(release, late('first'), one.send(other, on(id).claim), late('second'))).toEqual([
      'done',
      'lease_lost',
      'done',
      'lease_lost',
    ]);
    const { rows } = await db.pool.query('SELECT late_result FROM attempts WHERE task_id = $1', [id]);
    expect(rows.map((row) => row.late_result).sort()).toEqual(['first', null]);
    const events = await db.pool.query(
      `SELECT 1 FROM events WHERE task_id = $1 AND type = 'task.late_result'`,
      [id],
    );
    expect(events.rowCount).toBe(1);
  });

  it('a task is blocked by a dependency and lifted again', async () => {
    const id = await created();
    const block = { ...on(id).block, kind: 'dependency' as const };
    const answers = await Promise.all([one.send(planner, block), one.send(planner, on(id).unblock)]);
    expect(answers.map(codeOf)).toEqual(['done', 'done']);
  });
});

describe('a retry key', () => {
  it('within a batch: the change once, the answer as often as asked', async () => {
    const id = await inReview();
    const send = () => one.send(reviewer, on(id).rework, 'same');
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map((answer) => answer.kind === 'done' && answer.replayed)).toEqual([false, true, true]);
    expect(new Set(answers.map((answer) => answer.kind === 'done' && answer.body)).size).toBe(1);
  });

  it('a refusal under it is judged anew, also within a batch', async () => {
    const id = await created();
    const submit = () => one.send(executor, on(id).submit, 'early');
    expect(await together(submit(), one.send(executor, on(id).claim), submit(), submit())).toEqual([
      'lease_lost',
      'done',
      'done',
      'done',
    ]);
  });
});
