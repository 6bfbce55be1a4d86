import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { Play, send } from '../support/play.js';

let app: TestApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp({ config: { FUSEBOARD_MAX_ITERATIONS: '10000' } });
  play = new Play(app);
});
afterEach(() => play.expectSound());
afterAll(() => app.close());

const create = (fields: object) => play.planner.post('/v1/tasks').send({ title: 'Another', ...fields });
const patch = (id: string, fields: object) =>
  play.planner.patch(`/v1/tasks/${id}`).set('if-match', '*').send(fields);
const cancel = (id: string) => send(play.planner, id, 'cancel', { reason: 'given up' }).expect(200);
const plan = (tasks: readonly object[]) => play.planner.post('/v1/plans').send({ tasks });

async function finish(id: string): Promise<void> {
  await play.toReview(id);
  await play.approve(id).expect(200);
}

async function expectUnmet(id: string): Promise<void> {
  expect((await send(play.executor, id, 'claim').expect(409)).body.code).toBe('dependency_unmet');
}

describe('dependencies', () => {
  it('a task waits for another, and is claimable without another call once that is done', async () => {
    const t1 = await play.create();
    const t3 = await play.create({ depends_on: [t1.id], labels: ['waits'] });
    const refused = await send(play.executor, t3.id, 'claim').expect(409);
    expect(refused.body).toMatchObject({ code: 'dependency_unmet', depends_on: [t1.id], retryable: true });
    await play.executor
      .post('/v1/tasks/claim')
      .send({ labels: ['waits'] })
      .expect(204);
    await finish(t1.id);
    const { body } = await play.executor
      .post('/v1/tasks/claim')
      .send({ labels: ['waits'] })
      .expect(200);
    expect(body.claims[0].task.id).toBe(t3.id);
  });

  it('a chain opens link by link', async () => {
    const { body } = await plan([
      { ref: 'c', title: 'C', depends_on: ['b'] },
      { ref: 'b', title: 'B', depends_on: ['a'] },
      { ref: 'a', title: 'A' },
    ]).expect(201);
    const [c, b, a] = body.tasks.map((task: { id: string }) => task.id);
    await expectUnmet(c);
    await expectUnmet(b);
    await finish(a);
    await expectUnmet(c);
    await finish(b);
    await finish(c);
  });

  it('a diamond waits for both sides', async () => {
    const { body } = await plan([
      { ref: 'top', title: 'top' },
      { ref: 'left', title: 'left', depends_on: ['top'] },
      { ref: 'right', title: 'right', depends_on: ['top'] },
      { ref: 'end', title: 'end', depends_on: ['left', 'right', 'left'] },
    ]).expect(201);
    const [top, left, right, end] = body.tasks.map((task: { id: string }) => task.id);
    await finish(top);
    await Promise.all([finish(left), finish(right)]);
    expect((await play.task(end)).state).toBe('pending');
    await play.claim(end);
  });

  it('a dependency that is done already keeps nobody waiting; one that is not there is a mistake', async () => {
    const done = await play.done();
    await play.claim((await play.create({ depends_on: [done.id] })).id);
    const nobody = 'task_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b';
    expect((await create({ depends_on: [nobody] }).expect(404)).body.code).toBe('not_found');
    const { http } = await app.newProject();
    const { body: foreign } = await http.post('/v1/tasks').send({ title: 'Elsewhere' }).expect(201);
    expect((await create({ depends_on: [foreign.id] }).expect(404)).body.code).toBe('not_found');
    expect((await create({ supersedes: foreign.id }).expect(404)).body.code).toBe('not_found');
    expect((await create({ parent_id: foreign.id }).expect(404)).body.code).toBe('not_found');
  });

  it('a PATCH changes what is waited for', async () => {
    const [a, b] = [await play.create(), await play.create()];
    const t = await play.create({ depends_on: [a.id] });
    await patch(t.id, { depends_on: [b.id] }).expect(200);
    await finish(a.id);
    await expectUnmet(t.id);
    await patch(t.id, { depends_on: [a.id] }).expect(200);
    await play.claim(t.id);
    await finish(b.id);
  });
});

describe('a circle is refused', () => {
  it('in a plan, of one, two or three', async () => {
    const refs = (edges: Record<string, string[]>) =>
      Object.entries(edges).map(([ref, depends_on]) => ({ ref, title: ref, depends_on }));
    for (const edges of [{ a: ['a'] }, { a: ['b'], b: ['a'] }, { a: ['b'], b: ['c'], c: ['a'] }])
      expect((await plan(refs(edges)).expect(422)).body.code).toBe('dependency_cycle');
  });

  it('and named: which tasks of the plan wait for each other, and none beside them', async () => {
    const tasks = [
      { ref: 'free', title: 'Free' },
      { ref: 'first', title: 'First', depends_on: ['free', 'second'] },
      { ref: 'after', title: 'After', depends_on: ['first'] },
      { ref: 'second', title: 'Second', depends_on: ['first'] },
    ];
    const { body } = await plan(tasks).expect(422);
    expect(body.detail).toContain('“First” → “Second” → “First”');
    expect(body.errors).toMatchObject([
      { pointer: '/tasks/1/depends_on', code: 'dependency_cycle' },
      { pointer: '/tasks/3/depends_on', code: 'dependency_cycle' },
    ]);
  });

  it('by PATCH', async () => {
    const a = await play.create();
    const b = await play.create({ depends_on: [a.id] });
    const c = await play.create({ depends_on: [b.id] });
    for (const depends_on of [[a.id], [b.id], [c.id]])
      expect((await patch(a.id, { depends_on }).expect(422)).body.code).toBe('dependency_cycle');
    expect((await play.task(a.id)).version).toBe(1);
  });

  it('by the changes of an unblock', async () => {
    const a = await play.create();
    const b = await play.create({ depends_on: [a.id] });
    await send(play.planner, a.id, 'block', { kind: 'needs_input', reason: '?' }).expect(200);
    const refused = await play.unblock(a.id, play.planner, { changes: { depends_on: [b.id] } }).expect(422);
    expect(refused.body.code).toBe('dependency_cycle');
    expect((await play.task(a.id)).state).toBe('blocked');
  });

  it('by a successor that depends on what it replaces, at once or in the end', async () => {
    const old = await play.create();
    const waits = await play.create({ depends_on: [old.id] });
    for (const depends_on of [[old.id], [waits.id]])
      expect((await create({ supersedes: old.id, depends_on }).expect(422)).body.code).toBe(
        'dependency_cycle',
      );
    expect((await play.task(old.id)).state).toBe('pending');
  });

  it('that runs through a successor', async () => {
    const a = await play.create();
    const t = await play.create({ depends_on: [a.id] });
    const { body: b } = await create({ supersedes: a.id }).expect(201);
    expect((await patch(b.id, { depends_on: [t.id] }).expect(422)).body.code).toBe('dependency_cycle');
  });

  it('by two PATCHes that cross', async () => {
    const [a, b] = [await play.create(), await play.create()];
    const answers = await Promise.all([
      patch(a.id, { depends_on: [b.id] }),
      patch(b.id, { depends_on: [a.id] }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
  });
});

describe('a dependency that is given up', () => {
  it('blocks whoever waits for it, and a planner may go on without it', async () => {
    const a = await play.create();
    const t = await play.create({ depends_on: [a.id] });
    const far = await play.create({ depends_on: [t.id] });
    await cancel(a.id);
    expect(await play.task(t.id)).toMatchObject({ state: 'blocked', block_reason: { kind: 'dependency' } });
    expect((await play.task(far.id)).state).toBe('pending');
    const { body } = await play.unblock(t.id).expect(200);
    expect(body).toMatchObject({ state: 'pending', unblock_count: 0, depends_on: [] });
    await finish(t.id);
    await play.claim(far.id);
  });

  it('blocks one that begins to wait for it, by creation or by PATCH', async () => {
    const a = await play.create();
    await cancel(a.id);
    const blocked = { state: 'blocked', block_reason: { kind: 'dependency' } };
    expect(await play.create({ depends_on: [a.id] })).toMatchObject(blocked);
    const t = await play.create();
    expect((await patch(t.id, { depends_on: [a.id] }).expect(200)).body).toMatchObject(blocked);
    await play.unblock(t.id).expect(200);
    await play.claim(t.id);
  });

  it('keeps one blocked that was blocked for another reason', async () => {
    const a = await play.create();
    const t = await play.create({ depends_on: [a.id] });
    await send(play.planner, t.id, 'block', { kind: 'needs_input', reason: '?' }).expect(200);
    await cancel(a.id);
    const { body } = await play.unblock(t.id).expect(200);
    expect(body).toMatchObject({ state: 'blocked', block_reason: { kind: 'dependency' } });
    await play.unblock(t.id).expect(200);
    await play.claim(t.id);
  });
});

describe('a dependency that is superseded', () => {
  it('is met by its successor, or the successor of that', async () => {
    const a = await play.create();
    const t = await play.create({ depends_on: [a.id] });
    const { body: b } = await create({ supersedes: a.id }).expect(201);
    expect((await play.task(t.id)).state).toBe('pending');
    await expectUnmet(t.id);
    const { body: c } = await create({ supersedes: b.id }).expect(201);
    await expectUnmet(t.id);
    await finish(c.id);
    await play.claim(t.id);
  });

  it('after it was given up, too', async () => {
    const a = await play.create();
    await cancel(a.id);
    const { body: b } = await create({ supersedes: a.id }).expect(201);
    const t = await play.create({ depends_on: [a.id] });
    await expectUnmet(t.id);
    await finish(b.id);
    await play.claim(t.id);
  });

  it('within one plan, whichever comes first there', async () => {
    const old = await play.create();
    const { body } = await plan([
      { ref: 'waits', title: 'waits', depends_on: [old.id] },
      { ref: 'new', title: 'new', supersedes: old.id },
      { ref: 'waits too', title: 'waits too', depends_on: [old.id] },
    ]).expect(201);
    const [waits, successor, too] = body.tasks.map((task: { id: string }) => task.id);
    await expectUnmet(waits);
    await finish(successor);
    await play.claim(waits);
    await play.claim(too);
  });

  it('while its dependant is created', async () => {
    const old = await play.create();
    const [waits, successor] = await Promise.all([
      create({ depends_on: [old.id] }).expect(201),
      create({ supersedes: old.id }).expect(201),
    ]);
    await expectUnmet(waits.body.id);
    await finish(successor.body.id);
    await play.claim(waits.body.id);
  });

  it('and given up by its successor, blocks', async () => {
    const a = await play.create();
    const t = await play.create({ depends_on: [a.id] });
    const { body: b } = await create({ supersedes: a.id }).expect(201);
    await cancel(b.id);
    expect(await play.task(t.id)).toMatchObject({ state: 'blocked', block_reason: { kind: 'dependency' } });
  });
});

describe('at the same moment', () => {
  it('a task is created that waits for one being approved', async () => {
    for (let time = 0; time < 5; time += 1) {
      const a = await play.create();
      await play.toReview(a.id);
      const [, made] = await Promise.all([
        play.approve(a.id).expect(200),
        create({ depends_on: [a.id] }).expect(201),
      ]);
      await play.claim(made.body.id);
    }
    for (let time = 0; time < 5; time += 1) {
      const a = await play.create();
      await play.toReview(a.id);
      const [made] = await Promise.all([
        create({ depends_on: [a.id] }).expect(201),
        play.approve(a.id).expect(200),
      ]);
      await play.claim(made.body.id);
    }
  });

  it('a task stops waiting for one being approved, and goes on waiting for another', async () => {
    const [a, b] = [await play.create(), await play.create()];
    const t = await play.create({ depends_on: [a.id] });
    await play.toReview(a.id);
    await Promise.all([patch(t.id, { depends_on: [b.id] }).expect(200), play.approve(a.id).expect(200)]);
    await expectUnmet(t.id);
  });
});
