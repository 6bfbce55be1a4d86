import type { TestApp } from '../../support/app.js';
import { Play } from '../../support/play.js';

const USAGE = {
  tokens: { input: 100, output: 20, cache_read: 3, cache_write: 4 },
  cost_usd: 0.01,
  iterations: 2,
};

/** A board on which every invariant has something to hold: bare ids, by what happened to each. */
export type Board = Awaited<ReturnType<typeof playBoard>>;

/** Plays such a board in the default project. */
export async function playBoard(app: TestApp) {
  const play = new Play(app);
  const failed = await fail(play);
  const { body: me } = await play.operator.get('/v1/me').expect(200);
  const project = bare(me.project.id);
  const board = {
    ...(await wait(play)),
    ...(await stop(play)),
    ...(await replace(play)),
    ...(await fillRuns(play)),
    failed,
    relieved: await relieve(play),
    lonely: bare((await play.create()).id),
    done: await finish(play),
    reviewed: await handIn(play),
    underWay: await begin(play),
  };
  const runs = await app.pool.query('SELECT id FROM runs WHERE project_id = $1 AND is_default', [project]);
  const log = await app.pool.query('SELECT id FROM events WHERE project_id = $1 ORDER BY position DESC', [
    project,
  ]);
  return {
    ...board,
    project,
    usual: String(runs.rows[0].id),
    event: String(log.rows[0].id),
    stranger: '00000000-0000-7000-8000-000000000001',
  };
}

function bare(wire: string): string {
  return wire.slice(wire.indexOf('_') + 1);
}

/** Three attempts: one failed, one whose lease ran out, and one whose failure does not count. */
async function fail(play: Play): Promise<string> {
  const { id } = await play.create();
  await play.fail(await play.claim(id)).expect(200);
  await play.claim(id, play.executor, { lease_seconds: 1 });
  play.app.clock.advance(2);
  await play.app.tasks.sweep();
  await play.fail(await play.claim(id), play.executor, { class: 'infrastructure' }).expect(200);
  return bare(id);
}

/** One that waits for another that was edited twice, and one for another that was given up. */
async function wait(play: Play) {
  const edited = await play.create();
  for (const priority of [1, 2]) {
    await play.planner.patch(`/v1/tasks/${edited.id}`).set('if-match', '*').send({ priority }).expect(200);
  }
  const waiting = await play.create({ depends_on: [edited.id] });
  const lost = await play.create();
  const stranded = await play.create({ depends_on: [lost.id] });
  await play.planner.post(`/v1/tasks/${lost.id}/cancel`).send({ reason: 'not wanted' }).expect(200);
  return { edited: bare(edited.id), waiting: bare(waiting.id), stranded: bare(stranded.id) };
}

/** One blocked by its limit, a part of another that was, and one in the place of a third. */
async function stop(play: Play) {
  const blocked = await play.create();
  await play.tripByRework(blocked.id);
  const whole = await play.create();
  const { open_trip_id } = await play.tripByRework(whole.id);
  const split = { strategy: 'split', reason: 'too much at once', tasks: [{ ref: 'a', title: 'One half' }] };
  await play.planner.post(`/v1/trips/${open_trip_id}/recover`).send(split).expect(200);
  const { body } = await play.planner.get(`/v1/tasks?parent_id=${whole.id}`).expect(200);
  const given = await play.create();
  await play.tripByRework(given.id);
  const heir = await play.create({ supersedes: given.id });
  return { blocked: bare(blocked.id), part: bare(body.data[0].id), heir: bare(heir.id) };
}

/** The second to take a task's place; on the first, something was reported afterwards. */
async function replace(play: Play) {
  let last = await play.create();
  for (let times = 0; times < 2; times += 1) {
    await play.submit(await play.claim(last.id), play.executor, { usage: USAGE }).expect(200);
    await play.rework(last.id).expect(200);
    const next = await play.create({ supersedes: last.id });
    const late = { attempt: 1, tokens: { input: 7 } };
    await play.executor.post(`/v1/tasks/${last.id}/usage`).send(late).expect(200);
    last = next;
  }
  return { successor: bare(last.id) };
}

/** Blocked by its tokens, unblocked with none, and at work again. */
async function relieve(play: Play): Promise<string> {
  const { id } = await play.create({ limits: { max_tokens: 100 } });
  await play.submit(await play.claim(id), play.executor, { usage: USAGE }).expect(200);
  await play.unblock(id, play.planner, { reset_tokens: true }).expect(200);
  const { token } = await play.claim(id);
  const usage = { tokens: { input: 40 } };
  await play.executor.post(`/v1/tasks/${id}/heartbeat`).send({ lease_token: token, usage }).expect(200);
  return bare(id);
}

/** One run that goes on, one that its limit stopped, and one that goes on after that. */
async function fillRuns(play: Play) {
  const run = async (limits: object): Promise<string> => {
    const fields = { name: 'night', iteration_mode: 'total', limits };
    return (await play.planner.post('/v1/runs').send(fields).expect(201)).body.id;
  };
  const work = async (runId: string): Promise<void> => {
    const { id } = await play.create({ run_id: runId });
    await play.submit(await play.claim(id), play.executor, { usage: USAGE }).expect(200);
  };
  const counted = await run({});
  await work(counted);
  const tripped = await run({ max_iterations: 1 });
  await work(tripped);
  const recovered = await run({ max_iterations: 4 });
  await work(recovered);
  await work(recovered);
  const recovery = { reason: 'go on', reset_tokens: true };
  await play.operator.post(`/v1/runs/${recovered}/recover`).send(recovery).expect(200);
  await work(recovered);
  return { counted: bare(counted), tripped: bare(tripped), recovered: bare(recovered) };
}

/** Sent back once, reported on while under way, and approved. */
async function finish(play: Play): Promise<string> {
  const { id } = await play.create();
  await play.lap(id);
  const held = await play.claim(id);
  await play.executor
    .post(`/v1/tasks/${id}/heartbeat`)
    .send({ lease_token: held.token, usage: USAGE })
    .expect(200);
  await play.submit(held, play.executor, { usage: USAGE }).expect(200);
  await play.approve(id).expect(200);
  return bare(id);
}

async function handIn(play: Play): Promise<string> {
  const { id } = await play.create();
  await play.toReview(id);
  return bare(id);
}

async function begin(play: Play): Promise<string> {
  const { id } = await play.create();
  await play.claim(id);
  return bare(id);
}
