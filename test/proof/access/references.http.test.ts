import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROLES } from '../../../src/kernel/actor.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play } from '../../support/play.js';
import { bearer, call, codeIn, type Ready, told, withUnknownIds } from './call.js';

let app: TestApp;
/** The key of an agent of every role in another project. */
let guest: string;
/** What that project has of its own: a task, one that is blocked, and the trip of another. */
let own: { readonly task: string; readonly blocked: string; readonly trip: string };
/** What it does not have. */
let ours: { readonly task: string; readonly run: string; readonly agent: string };

beforeAll(async () => {
  app = await startTestApp();
  const play = new Play(app);
  const { body: run } = await play.planner.post('/v1/runs').send({ name: 'a night' }).expect(201);
  const { id: task } = await play.create({ run_id: run.id, dedupe_key: 'the feed' });
  await play.claim(task);
  const { body: me } = await play.executor.get('/v1/me').expect(200);
  ours = { task, run: run.id, agent: me.agent.id };

  const there = await app.newProject('elsewhere');
  const add = (name: string) =>
    there.http
      .post('/v1/agents')
      .send({ name, roles: [...ROLES] })
      .expect(201);
  const [{ body: one }, { body: two }] = await Promise.all([add('one'), add('two')]);
  guest = one.api_key;
  const [works, judges] = [app.withKey(guest), app.withKey(two.api_key)];
  const create = async (fields: object = {}) =>
    (
      await works
        .post('/v1/tasks')
        .send({ title: 'x', ...fields })
        .expect(201)
    ).body.id;
  const blocked = await create();
  await works.post(`/v1/tasks/${blocked}/block`).send({ kind: 'other', reason: 'wait' }).expect(200);
  const lost = await create({ limits: { max_reworks: 1 } });
  const { body: claim } = await works.post(`/v1/tasks/${lost}/claim`).send({}).expect(200);
  await works
    .post(`/v1/tasks/${lost}/submit`)
    .send({ lease_token: claim.lease_token, result: 'x' })
    .expect(200);
  const { body: back } = await judges.post(`/v1/tasks/${lost}/rework`).send({ reason: 'no' }).expect(200);
  own = { task: await create(), blocked, trip: back.trip.id };
});
afterAll(() => app.close());

const post = (path: string, body: Ready['body'] = {}): Ready => ({ method: 'POST', path, body });
const part = { ref: 'one', title: 'x' };

it.each<[string, () => Ready]>([
  ['the run of a new task', () => post('/v1/tasks', { title: 'x', run_id: ours.run })],
  ['the parent of a new task', () => post('/v1/tasks', { title: 'x', parent_id: ours.task })],
  ['what a new task waits for', () => post('/v1/tasks', { title: 'x', depends_on: [ours.task] })],
  ['what a new task replaces', () => post('/v1/tasks', { title: 'x', supersedes: ours.task })],
  ['the run of a plan', () => post('/v1/plans', { run_id: ours.run, tasks: [part] })],
  ['a parent in a plan', () => post('/v1/plans', { tasks: [{ ...part, parent_id: ours.task }] })],
  ['what a plan waits for', () => post('/v1/plans', { tasks: [{ ...part, depends_on: [ours.task] }] })],
  ['what a plan replaces', () => post('/v1/plans', { tasks: [{ ...part, supersedes: ours.task }] })],
  ['the run of a claim', () => post('/v1/tasks/claim', { run_id: ours.run })],
  [
    'what a task shall wait for from now on',
    () => ({
      method: 'PATCH',
      path: `/v1/tasks/${own.task}`,
      body: { depends_on: [ours.task] },
      headers: { 'if-match': '*' },
    }),
  ],
  ['what an unblocked task waits for', () => unblock({ depends_on: [ours.task] })],
  ['who is excluded from a task', () => unblock({ excluded_agent_id: ours.agent })],
  ['who is given a task', () => unblock({ assigned_agent_id: ours.agent })],
  ['what a recovered task waits for', () => recover({ depends_on: [ours.task] })],
  ['who is given a recovered task', () => recover({ assigned_agent_id: ours.agent })],
  [
    'what the parts of a split wait for',
    () =>
      post(`/v1/trips/${own.trip}/recover`, {
        strategy: 'split',
        reason: 'too much',
        tasks: [{ ...part, depends_on: [ours.task] }],
      }),
  ],
])('%s is looked for in the caller’s project only', async (_what, make) => {
  const ready = make();
  const answer = await call(app.url, ready, bearer(guest));
  expect([answer.status, codeIn(answer)]).toEqual([404, 'not_found']);
  // The body is compared too: it must not tell a task of ours from one that never was.
  const body = JSON.parse(withUnknownIds(JSON.stringify(ready.body)));
  expect(told(answer)).toEqual(told(await call(app.url, { ...ready, body }, bearer(guest))));
});

function unblock(changes: object): Ready {
  return post(`/v1/tasks/${own.blocked}/unblock`, { reason: 'go on', changes });
}

function recover(changes: object): Ready {
  return post(`/v1/trips/${own.trip}/recover`, { strategy: 'adjust', reason: 'go on', changes });
}

it.each([
  ['tasks?run_id=', 'run'],
  ['tasks?parent_id=', 'task'],
  ['tasks?agent_id=', 'agent'],
  ['trips?task_id=', 'task'],
  ['trips?run_id=', 'run'],
  ['events?task_id=', 'task'],
  ['events?agent_id=', 'agent'],
] as const)('GET /v1/%s of another project is an empty list', async (path, kind) => {
  const ready = { method: 'GET', path: `/v1/${path}${ours[kind]}` };
  expect(JSON.parse((await call(app.url, ready, bearer(guest))).text)).toEqual({
    data: [],
    next_cursor: null,
    has_more: false,
  });
});

it('a dedupe key is held in its own project only', async () => {
  const ready = post('/v1/tasks', { title: 'x', dedupe_key: 'the feed' });
  expect((await call(app.url, ready, bearer(guest))).status).toBe(201);
  expect(codeIn(await call(app.url, ready, bearer(guest)))).toBe('duplicate');
});
