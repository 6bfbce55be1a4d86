import type { Role } from '../../../src/kernel/actor.js';
import type { Held, Play } from '../../support/play.js';
import type { Ready } from './call.js';

type Fields = Readonly<Record<string, unknown>>;

/** What a call is made on, but for its method: where it goes and what it says. */
type Made = Omit<Ready, 'method'>;

/** Makes an object in the state in which the call succeeds when it comes from the agent of that role. */
type Scene = (play: Play, role: Role) => Promise<Made>;

const ANY_VERSION = { 'if-match': '*' };

let made = 0;
/** A word that no other scene uses. */
function fresh(what: string): string {
  made += 1;
  return `${what} ${made}`;
}

const at =
  (path: string, body?: Fields): Scene =>
  async () => ({ path, ...(body === undefined ? {} : { body }) });

/** A call on a task that was just created. */
const onTask =
  (command: string, body?: Fields): Scene =>
  async (play) => {
    const { id } = await play.create();
    return { path: `/v1/tasks/${id}${command}`, ...(body === undefined ? {} : { body }) };
  };

/** A call by the lease that the role can have: an executor works, whoever judges holds the review. */
const byLease =
  (command: string, body: Fields = {}): Scene =>
  async (play, role) => {
    const { id, token } = await held(play, role);
    return { path: `/v1/tasks/${id}/${command}`, body: { lease_token: token, ...body } };
  };

async function held(play: Play, role: Role): Promise<Held> {
  const { id } = await play.create();
  if (role === 'executor') return play.claim(id);
  await play.toReview(id);
  return play.claim(id, play.app.as(role), { for: 'review' });
}

/** A call on a task in review. */
const onReview =
  (command: string, body: Fields): Scene =>
  async (play) => {
    const { id } = await play.create();
    await play.toReview(id);
    return { path: `/v1/tasks/${id}/${command}`, body };
  };

const onRun =
  (command: string, more: Omit<Made, 'path'> = {}): Scene =>
  async (play) => {
    const { body } = await play.planner.post('/v1/runs').send({ name: 'a night' }).expect(201);
    return { path: `/v1/runs/${body.id}${command}`, ...more };
  };

/** A call on a run that its first claim has tripped. */
const onTrippedRun: Scene = async (play) => {
  const limits = { max_iterations: 1 };
  const { body: run } = await play.planner.post('/v1/runs').send({ name: 'a night', limits }).expect(201);
  const { id } = await play.create({ run_id: run.id });
  await play.claim(id);
  return { path: `/v1/runs/${run.id}/recover`, body: { reason: 'go on' } };
};

const onTrip =
  (command: string, body?: Fields): Scene =>
  async (play) => {
    const { id } = await play.create({ limits: { max_reworks: 1 } });
    const { open_trip_id: trip } = await play.lap(id);
    return { path: `/v1/trips/${trip}${command}`, ...(body === undefined ? {} : { body }) };
  };

async function newAgent(play: Play): Promise<{ readonly id: string; readonly keyId: string }> {
  const wanted = { name: fresh('somebody'), roles: ['executor'] };
  const { body } = await play.operator.post('/v1/agents').send(wanted).expect(201);
  return { id: body.id, keyId: body.keys[0].id };
}

const onBreaker =
  (command: 'isolate' | 'close'): Scene =>
  async (play) => {
    const { id } = await newAgent(play);
    const path = `/v1/breakers/${id.replace('agt', 'brk')}`;
    const body = { reason: 'it answers nonsense' };
    if (command === 'close') await play.operator.post(`${path}/isolate`).send(body).expect(200);
    return { path: `${path}/${command}`, body };
  };

/** For each call of the table: what makes it succeed when it comes from whom it is for. */
export const SCENES: Readonly<Record<string, Scene>> = {
  'GET /livez': at('/livez'),
  'GET /readyz': at('/readyz'),
  'GET /problems': at('/problems'),
  'GET /problems/:code': at('/problems/forbidden_role'),
  'GET /openapi.json': at('/openapi.json'),
  'GET /openapi.yaml': at('/openapi.yaml'),
  'GET /docs/': at('/docs/'),
  'GET /docs/json': at('/docs/json'),
  'GET /docs/yaml': at('/docs/yaml'),
  'GET /docs/static/index.html': at('/docs/static/index.html'),
  'GET /docs/static/swagger-initializer.js': at('/docs/static/swagger-initializer.js'),
  'GET /docs/static/theme/theme.css': at('/docs/static/theme/theme.css'),
  'GET /docs/static/*': at('/docs/static/swagger-ui.css'),

  'GET /v1/me': at('/v1/me'),
  'GET /v1/projects/current': at('/v1/projects/current'),
  'PATCH /v1/projects/current': async () => {
    made += 1;
    const body = { policies: { cooldown_seconds: 300 + made } };
    return { path: '/v1/projects/current', body, headers: ANY_VERSION };
  },
  'POST /v1/projects/current/simulate': at('/v1/projects/current/simulate', { limits: { max_reworks: 2 } }),
  'POST /v1/projects': async () => ({ path: '/v1/projects', body: { name: fresh('project') } }),
  'GET /v1/projects': at('/v1/projects'),
  'POST /v1/agents': async () => ({
    path: '/v1/agents',
    body: { name: fresh('agent'), roles: ['executor'] },
  }),
  'GET /v1/agents': at('/v1/agents'),
  'POST /v1/agents/:id/keys': async (play) => {
    const { id } = await newAgent(play);
    return { path: `/v1/agents/${id}/keys`, body: {} };
  },
  'DELETE /v1/agents/:id/keys/:key_id': async (play) => {
    const { id, keyId } = await newAgent(play);
    return { path: `/v1/agents/${id}/keys/${keyId}` };
  },

  'POST /v1/runs': at('/v1/runs', { name: 'a night' }),
  'GET /v1/runs': at('/v1/runs'),
  'GET /v1/runs/:id': onRun(''),
  'PATCH /v1/runs/:id': onRun('', { body: { name: 'another night' }, headers: ANY_VERSION }),
  'POST /v1/runs/:id/recover': onTrippedRun,
  'POST /v1/runs/:id/close': onRun('/close', { body: { reason: 'it is morning' } }),

  'POST /v1/tasks': at('/v1/tasks', { title: 'Fetch the posts' }),
  'POST /v1/plans': at('/v1/plans', { tasks: [{ ref: 'one', title: 'Fetch the posts' }] }),
  'GET /v1/tasks': at('/v1/tasks'),
  'GET /v1/tasks/claimable': at('/v1/tasks/claimable'),
  'GET /v1/tasks/:id': onTask(''),
  'PATCH /v1/tasks/:id': async (play) => {
    const { id } = await play.create();
    return { path: `/v1/tasks/${id}`, body: { title: 'Fetch them all' }, headers: ANY_VERSION };
  },
  'GET /v1/tasks/:id/attempts': onTask('/attempts'),
  'GET /v1/tasks/:id/events': onTask('/events'),
  'GET /v1/tasks/:id/guard': onTask('/guard'),
  'GET /v1/tasks/:id/brief': onTask('/brief'),
  'POST /v1/tasks/claim': async (play, role) => {
    const labels = [fresh('label')];
    const { id } = await play.create({ labels });
    if (role !== 'executor') await play.toReview(id);
    return { path: '/v1/tasks/claim', body: { labels } };
  },
  'POST /v1/tasks/:id/claim': async (play, role) => {
    const { id } = await play.create();
    if (role !== 'executor') await play.toReview(id);
    return { path: `/v1/tasks/${id}/claim`, body: {} };
  },
  'POST /v1/tasks/:id/heartbeat': byLease('heartbeat'),
  'POST /v1/tasks/:id/usage': byLease('usage', { tokens: { input: 1 } }),
  'POST /v1/tasks/:id/release': byLease('release'),
  'POST /v1/tasks/:id/submit': byLease('submit', { result: 'posts.json' }),
  'POST /v1/tasks/:id/fail': byLease('fail', { error: { message: 'no answer' } }),
  'POST /v1/tasks/:id/block': async (play, role) => {
    const { id } = role === 'executor' || role === 'reviewer' ? await held(play, role) : await play.create();
    return { path: `/v1/tasks/${id}/block`, body: { kind: 'needs_input', reason: 'which feed?' } };
  },
  'POST /v1/tasks/:id/approve': onReview('approve', { attempt: 1 }),
  'POST /v1/tasks/:id/rework': onReview('rework', { reason: 'twenty are missing' }),
  'POST /v1/tasks/:id/unblock': async (play) => {
    const { id } = await play.create();
    await play.planner.post(`/v1/tasks/${id}/block`).send({ kind: 'other', reason: 'wait' }).expect(200);
    return { path: `/v1/tasks/${id}/unblock`, body: { reason: 'go on' } };
  },
  'POST /v1/tasks/:id/cancel': onTask('/cancel', { reason: 'no longer wanted' }),

  'GET /v1/trips': at('/v1/trips'),
  'GET /v1/trips/:id': onTrip(''),
  'POST /v1/trips/:id/recover': onTrip('/recover', { strategy: 'reset', reason: 'go on' }),
  'GET /v1/recoveries/stats': at('/v1/recoveries/stats'),
  'GET /v1/health/invariants': at('/v1/health/invariants'),
  'GET /v1/breakers': at('/v1/breakers'),
  'POST /v1/breakers/:id/isolate': onBreaker('isolate'),
  'POST /v1/breakers/:id/close': onBreaker('close'),

  'GET /v1/events': at('/v1/events'),
  'GET /v1/events/stream': at('/v1/events/stream'),
};
