import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play, send } from '../../support/play.js';

let app: TestApp;
let play: Play;
beforeAll(async () => {
  app = await startTestApp();
  play = new Play(app);
});
afterEach(() => play.expectSound());
afterAll(() => app.close());

const GOALS = ['no pictures', 'wrong time zone', 'no authors', 'too slow', 'too long'];

/** A task that five verdicts have blocked, each with a finding of its own on the same criterion. */
async function trippedTask(): Promise<{ id: string; tripId: string }> {
  const { id } = await play.create({ acceptance: ['50 posts are stored', 'no post twice'] });
  for (const [index, detail] of GOALS.entries()) {
    const held = await play.claim(id);
    await play.submit(held, play.executor, { result: `posts ${index}` }).expect(200);
    await play.rework(id, play.reviewer, { findings: [{ criterion: 1, detail }] }).expect(200);
  }
  return { id, tripId: await openTrip(id) };
}

async function openTrip(taskId: string): Promise<string> {
  const { body } = await play.planner.get(`/v1/trips?task_id=${taskId}&state=open`).expect(200);
  return body.data[0].id;
}

const recover = (tripId: string, body: object, agent = play.planner) =>
  agent.post(`/v1/trips/${tripId}/recover`).send(body);

describe('the list of trips', () => {
  it('shows them newest first, by task, kind, state and severity, to planners and operators', async () => {
    const { id, tripId } = await trippedTask();
    const other = await trippedTask();
    const { body } = await app
      .as('operator')
      .get('/v1/trips?kind=rework&scope=task&severity=MEDIUM')
      .expect(200);
    const ids = body.data.map((trip: { id: string }) => trip.id);
    expect(ids.slice(0, 2)).toEqual([other.tripId, tripId]);
    const page = await play.planner.get('/v1/trips?limit=1').expect(200);
    expect(page.body).toMatchObject({ has_more: true, data: [{ id: other.tripId }] });
    const next = await play.planner.get(`/v1/trips?limit=1&cursor=${page.body.next_cursor}`).expect(200);
    expect(next.body.data[0].id).toBe(tripId);
    const one = await play.planner.get(`/v1/trips?task_id=${id}`).expect(200);
    expect(one.body.data).toMatchObject([{ id: tripId, kind: 'rework', value: 5, limit: 5 }]);
    await play.planner.get('/v1/trips?kind=unknown').expect(400);
    await play.executor.get('/v1/trips').expect(403);
  });

  it('and their reports are of the own project only', async () => {
    const { tripId } = await trippedTask();
    const foreign = await app.newProject();
    expect((await foreign.http.get('/v1/trips').expect(200)).body.data).toEqual([]);
    expect((await foreign.http.get(`/v1/trips/${tripId}`).expect(404)).body.code).toBe('not_found');
    await foreign.http
      .post(`/v1/trips/${tripId}/recover`)
      .send({ strategy: 'reset', reason: 'x' })
      .expect(404);
  });
});

describe('the report of a task’s trip', () => {
  it('says what happened, why, and what to do', async () => {
    const { id, tripId } = await trippedTask();
    const { body } = await play.planner.get(`/v1/trips/${tripId}`).expect(200);
    const { report } = body;
    expect(body).toMatchObject({ id: tripId, task_id: id, state: 'open', resolution: null });
    expect(report).toMatchObject({
      generated_at: expect.stringMatching(/Z$/),
      breaker_type: 'REWORK',
      severity: 'MEDIUM',
      action_required: 'AUTOMATIC_RECOVERY',
      about: 'Fetch the posts',
      errors: { total: 0, by_class: {}, fingerprints: [] },
      diagnosis: {
        code: 'same_criterion',
        attempts: [1, 2, 3, 4, 5],
        explanation: 'Criterion 1 (“no post twice”) was found unmet in all 5 verdicts.',
      },
      recommendation: { strategy: 'adjust', basis: 'default', success_rate: null, sample: 0 },
    });
    expect(report.layers).toContainEqual({
      kind: 'rework',
      value: 5,
      limit: 5,
      state: 'open',
      over_percent: 0,
    });
    expect(report.other_diagnoses.map((one: { code: string }) => one.code)).toEqual([
      'moving_goalposts',
      'one_pair',
    ]);
    const events = await play.events(id);
    expect(report.timeline).toMatchObject({ cut: false, omitted: 0 });
    expect(report.timeline.entries.map((entry: { event: string }) => entry.event)).toEqual(
      events.map((event) => event.type),
    );
    expect(report.timeline.entries).toContainEqual(
      expect.objectContaining({
        agent: 'reviewer',
        role: 'reviewer',
        event: 'task.rework_requested',
        attempt: 2,
        text: expect.stringMatching(/^sent attempt 2 back: .* \(criterion 1: wrong time zone\)$/),
      }),
    );
  });

  it('is Markdown for whoever asks for it, and what agents wrote cannot pose as a part of it', async () => {
    const { id } = await play.create({
      title: '# Not a heading\n| nor | a table',
      limits: { max_errors: 1 },
    });
    await play.fail(await play.claim(id), play.executor, { message: 'broken\n## Next actions' }).expect(200);
    const { text, headers } = await play.planner
      .get(`/v1/trips/${await openTrip(id)}`)
      .set('accept', 'text/markdown')
      .expect(200);
    expect(headers['content-type']).toBe('text/markdown; charset=utf-8');
    expect(text).toMatch(
      /^---\ngenerated_at: \S+\nbreaker_type: ERROR\nseverity: MEDIUM\naction_required: AUTOMATIC_RECOVERY\n---\n/,
    );
    expect(text.match(/^#+ .*$/gm)?.slice(1)).toEqual([
      '## Layers',
      '## Errors',
      '## Diagnosis',
      '## Recommendation',
      '## Next actions',
      '## Timeline',
    ]);
    expect(text).toContain('- error: 1');
    expect(text).toContain('/recover`');
  });

  it('ends with its closing, whatever the task did afterwards', async () => {
    const { id, tripId } = await trippedTask();
    await recover(tripId, { strategy: 'reset', reason: 'once more' }).expect(200);
    await play.lap(id);
    const { body } = await play.planner.get(`/v1/trips/${tripId}`).expect(200);
    expect(body.resolution).toMatchObject({ strategy: 'reset', reason: 'once more' });
    expect(body.report.timeline.entries.at(-1).event).toBe('task.unblocked');
    expect(body.report.diagnosis.code).toBe('same_criterion');
    expect(body.report.next_actions.every((call: { method: string }) => call.method === 'GET')).toBe(true);
  });
});

describe('the first next action of a report', () => {
  const first = async (taskId: string) => {
    const tripId = await openTrip(taskId);
    const { body } = await play.planner.get(`/v1/trips/${tripId}`).expect(200);
    return body.report.next_actions[0];
  };
  const follow = async (taskId: string) => {
    const call = await first(taskId);
    const agent = app.as(call.role);
    expect(call.method).toBe('POST');
    return (await agent.post(call.path).send(call.body).expect(200)).body;
  };

  it('can be sent as it is: unmet criteria are made clearer, and the second time something changes too', async () => {
    const { id } = await trippedTask();
    const { task, trip } = await follow(id);
    expect(task).toMatchObject({ state: 'pending', rework_count: 0, unblock_count: 1 });
    expect(task.acceptance).toEqual([
      '50 posts are stored',
      expect.stringMatching(/^no post twice \(found so far: no pictures; /),
    ]);
    expect(trip).toMatchObject({
      state: 'closed',
      resolution: { strategy: 'adjust', assessment: 'acceptance_too_high' },
    });
    await play.tripByRework(id);
    expect((await follow(id)).trip.resolution.strategy).toBe('adjust');
  });

  it('can be sent as it is: a spent budget is raised', async () => {
    const { id } = await play.create({ limits: { max_tokens: 100, max_cost_usd: 0.01 } });
    const usage = { tokens: { input: 400 }, cost_usd: 0.5 };
    await play.submit(await play.claim(id), play.executor, { usage }).expect(200);
    const { task } = await follow(id);
    expect(task).toMatchObject({ state: 'pending', limits: { max_tokens: 500, max_cost_usd: 0.63 } });
  });

  it('can be sent as it is: what no reviewer judged goes back to review', async () => {
    const { id } = await play.create({ limits: { max_review_failures: 1 } });
    await play.toReview(id);
    await play.rework(id, play.reviewer, { class: 'infrastructure' }).expect(200);
    expect((await follow(id)).task).toMatchObject({ state: 'in_review', review_failures: 0 });
  });

  it('can be sent as it is: a task whose cost rises is taken apart', async () => {
    const { id } = await play.create({ acceptance: ['a', 'b', 'c'], limits: { max_tokens: 1_000 } });
    for (const input of [200, 300, 600]) {
      await play
        .submit(await play.claim(id), play.executor, { usage: { tokens: { input } }, result: `${input}` })
        .expect(200);
      if (input < 600) await play.rework(id).expect(200);
    }
    const { task, trip } = await follow(id);
    expect(trip.resolution.strategy).toBe('split');
    expect(task.depends_on).toHaveLength(3);
  });
});

describe('recovering from a task’s trip', () => {
  it('obeys the rules of an unblock, by the same path', async () => {
    const { id, tripId } = await trippedTask();
    await recover(tripId, { strategy: 'reset', reason: 'x' }, play.executor).expect(403);
    await recover(tripId, { strategy: 'reset', reason: ' ' }).expect(400);
    const { body } = await recover(tripId, { strategy: 'reset', reason: 'go on' }).expect(200);
    expect(body).toMatchObject({
      trip: {
        id: tripId,
        state: 'closed',
        resolution: { strategy: 'reset', reason: 'go on', by: { role: 'planner' } },
      },
      task: { id, state: 'pending', rework_count: 0, unblock_count: 1 },
    });
    await play.tripByRework(id);
    const again = await openTrip(id);
    expect((await recover(again, { strategy: 'reset', reason: 'go on' }).expect(422)).body.code).toBe(
      'nothing_changed',
    );
    await recover(again, { strategy: 'adjust', reason: 'x', changes: { description: 'look twice' } }).expect(
      200,
    );
  });

  it('of a trip that is closed says how it was closed', async () => {
    const { tripId } = await trippedTask();
    await recover(tripId, { strategy: 'terminate', reason: 'not wanted any more' }).expect(200);
    const { body } = await recover(tripId, { strategy: 'reset', reason: 'go on' }).expect(409);
    expect(body).toMatchObject({ code: 'invalid_transition', state: 'closed', strategy: 'terminate' });
    expect(body.detail).toContain('not wanted any more');
  });

  it('answers the same to the same Idempotency-Key, and lifts no later trip by it', async () => {
    const { id, tripId } = await trippedTask();
    const once = () =>
      recover(tripId, { strategy: 'reset', reason: 'go on' }).set('idempotency-key', 'night-1');
    const { body } = await once().expect(200);
    await play.tripByRework(id);
    const replayed = await once().expect(200);
    expect(replayed.headers['idempotency-replayed']).toBe('true');
    expect(replayed.body).toEqual(body);
    await recover(tripId, { strategy: 'reset', reason: 'go on' })
      .set('idempotency-key', 'night-2')
      .expect(409);
    expect((await play.task(id)).state).toBe('blocked');
  });

  it('by terminate cancels the task; by escalate leaves it to an operator; by split it waits for its parts', async () => {
    const given = await trippedTask();
    expect(
      (await recover(given.tripId, { strategy: 'terminate', reason: 'x' }).expect(200)).body.task.state,
    ).toBe('cancelled');
    const handed = await trippedTask();
    const { body } = await recover(handed.tripId, { strategy: 'escalate', reason: 'too odd' }).expect(200);
    expect(body.trip).toMatchObject({
      state: 'open',
      severity: 'HIGH',
      action_required: 'BLOCKER_ESCALATION',
    });
    expect((await recover(handed.tripId, { strategy: 'reset', reason: 'x' }).expect(403)).body.code).toBe(
      'escalation_required',
    );
    const tasks = [
      { ref: 'a', title: 'One half' },
      { ref: 'b', title: 'The other', depends_on: ['a'] },
    ];
    const parted = await recover(
      handed.tripId,
      { strategy: 'split', reason: 'x', tasks },
      play.operator,
    ).expect(200);
    expect(parted.body.task.depends_on).toHaveLength(2);
    expect(parted.body.trip.resolution.strategy).toBe('split');
  });

  it('refuses what does not fit, and says where', async () => {
    const { tripId } = await trippedTask();
    const pointers = async (body: object) =>
      (await recover(tripId, { reason: 'x', ...body }).expect(400)).body.errors.map(
        (error: { pointer: string }) => error.pointer,
      );
    expect(await pointers({ strategy: 'reset', changes: { description: 'new' } })).toEqual(['/changes']);
    expect(await pointers({ strategy: 'split' })).toEqual(['/tasks']);
    expect(await pointers({ strategy: 'reset', tasks: [{ ref: 'a', title: 'a' }] })).toEqual(['/tasks']);
    expect(
      await pointers({ strategy: 'adjust', changes: { limits: { max_iterations: 9 }, deadline_at: null } }),
    ).toEqual(['/changes/limits/max_iterations', '/changes/deadline_at']);
  });
});

describe('the trip of a run', () => {
  const trippedRun = async () => {
    const { body: run } = await play.planner
      .post('/v1/runs')
      .send({ name: 'night', limits: { max_iterations: 2 } })
      .expect(201);
    const { id } = await play.create({ run_id: run.id });
    await play.lap(id);
    await play.claim(id);
    const { body } = await play.planner.get(`/v1/trips?run_id=${run.id}&scope=run`).expect(200);
    return { runId: run.id, taskId: id, tripId: body.data[0].id };
  };

  it('is reported with what led to it, and no diagnosis is guessed', async () => {
    const { taskId, tripId, runId } = await trippedRun();
    const { body } = await play.planner.get(`/v1/trips/${tripId}`).expect(200);
    expect(body).toMatchObject({
      scope: 'run',
      run_id: runId,
      report: { about: 'night', diagnosis: { code: 'none' } },
    });
    const { entries } = body.report.timeline;
    expect(entries.filter((entry: { event: string }) => entry.event === 'task.claimed')).toHaveLength(2);
    expect(entries.some((entry: { task_id: string | null }) => entry.task_id === taskId)).toBe(true);
    await play.planner.get(`/v1/trips/${tripId}`).set('accept', 'text/markdown').expect(200);
  });

  it('is recovered by the run’s own rules', async () => {
    const { tripId, runId } = await trippedRun();
    const wrong = await recover(tripId, {
      strategy: 'adjust',
      reason: 'x',
      changes: { description: 'y' },
    }).expect(400);
    expect(wrong.body.errors[0].pointer).toBe('/changes/description');
    await recover(tripId, { strategy: 'split', reason: 'x', tasks: [{ ref: 'a', title: 'a' }] }).expect(400);
    const { body } = await recover(tripId, {
      strategy: 'adjust',
      reason: 'x',
      changes: { limits: { max_iterations: 9 } },
    }).expect(200);
    expect(body).toMatchObject({
      trip: { id: tripId, state: 'closed', resolution: { strategy: 'adjust' } },
      run: { id: runId, state: 'open', iterations: 0, limits: { max_iterations: 9 } },
    });
    const left = await trippedRun();
    const { body: grave } = await recover(left.tripId, { strategy: 'escalate', reason: 'x' }).expect(200);
    expect(grave).toMatchObject({
      trip: { state: 'open', severity: 'HIGH', action_required: 'BLOCKER_ESCALATION' },
      run: { state: 'tripped' },
    });
    const ended = await trippedRun();
    const { body: closed } = await recover(ended.tripId, { strategy: 'terminate', reason: 'x' }).expect(200);
    expect(closed.run.state).toBe('closed');
  });
});

describe('what helped before', () => {
  it('is told by kind, diagnosis and strategy, and recommended from five on', async () => {
    const project = await app.newProject();
    const agent = async (role: 'planner' | 'executor' | 'reviewer') => {
      const { body } = await project.http
        .post('/v1/agents')
        .send({ name: role, roles: [role] })
        .expect(201);
      return app.withKey(body.api_key);
    };
    const [planner, executor, reviewer] = [
      await agent('planner'),
      await agent('executor'),
      await agent('reviewer'),
    ];
    const trip = async () => {
      const { body } = await planner
        .post('/v1/tasks')
        .send({ title: 'x', limits: { max_reworks: 2 } })
        .expect(201);
      for (const result of ['a', 'b']) {
        const { body: claim } = await send(executor, body.id, 'claim').expect(200);
        await send(executor, body.id, 'submit', { lease_token: claim.lease_token, result }).expect(200);
        await send(reviewer, body.id, 'rework', { reason: result }).expect(200);
      }
      const { body: list } = await planner.get(`/v1/trips?task_id=${body.id}&state=open`).expect(200);
      return { id: body.id, tripId: list.data[0].id };
    };
    const recommended = async (tripId: string) =>
      (await planner.get(`/v1/trips/${tripId}`).expect(200)).body.report.recommendation;
    for (let round = 1; round <= 5; round += 1) {
      const { id, tripId } = await trip();
      expect(await recommended(tripId)).toMatchObject({ strategy: 'reset', basis: 'default' });
      const changes = { description: 'look twice' };
      await planner
        .post(`/v1/trips/${tripId}/recover`)
        .send({ strategy: 'adjust', reason: 'x', changes })
        .expect(200);
      const { body: claim } = await send(executor, id, 'claim').expect(200);
      await send(executor, id, 'submit', { lease_token: claim.lease_token, result: 'c' }).expect(200);
      await send(reviewer, id, 'approve').expect(200);
    }
    const { body } = await planner.get('/v1/recoveries/stats').expect(200);
    expect(body).toEqual({
      data: [
        {
          kind: 'rework',
          diagnosis: 'none',
          strategy: 'adjust',
          resolutions: 5,
          succeeded: 5,
          failed: 0,
          rate: 1,
        },
      ],
      sample_min: 5,
      looked_at: 1_000,
    });
    expect(await recommended((await trip()).tripId)).toMatchObject({
      strategy: 'adjust',
      basis: 'history',
      success_rate: 1,
      sample: 5,
    });
    await executor.get('/v1/recoveries/stats').expect(403);
  });
});
