import type { TestApp } from '../../support/app.js';

type Fields = Readonly<Record<string, unknown>>;

/** One command of a story: who sends it where, what it says, and what it might have said instead. */
export interface Step {
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly key: string;
  readonly body: Fields;
  /** Another body that would do as well: under the same key it is another request. */
  readonly instead: Fields;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A life of one object, command after command; each is told the answer to the one before. */
export type Story = (app: TestApp, name: string) => AsyncGenerator<Step, void, Told>;

/** What stories read of answers. */
export interface Told {
  readonly id: string;
  readonly version: number;
  readonly run_id: string;
  readonly labels: readonly string[];
  readonly lease_token: number;
  readonly api_key: string;
  readonly open_trip_id: string;
  readonly tasks: readonly Told[];
  readonly claims: readonly Told[];
}

const post = (path: string, key: string, body: Fields, instead: Fields): Step => ({
  method: 'POST',
  path,
  key,
  body,
  instead,
});

const patch = (path: string, key: string, version: number, body: Fields, instead: Fields): Step => ({
  ...post(path, key, body, instead),
  method: 'PATCH',
  headers: { 'if-match': `"v${version}"` },
});

/** Nothing in these stories is to be stopped by a limit that they do not name. */
const WIDE = { max_tokens: 1_000_000, max_reworks: 50, max_attempts: 50, max_errors: 50 };

/** A task from its creation to its approval, with everything that can go between. */
const untilDone: Story = async function* ({ keys }, name) {
  const { planner, executor, reviewer } = keys;
  const { id, version } = yield post(
    '/v1/tasks',
    planner,
    { title: name, limits: WIDE },
    { title: `${name}, or another`, limits: WIDE },
  );
  const at = `/v1/tasks/${id}`;
  const { labels } = yield patch(at, planner, version, { labels: [name] }, { labels: [`not ${name}`] });
  const { claims } = yield post('/v1/tasks/claim', executor, { labels }, { labels, lease_seconds: 200 });
  let token = claims[0]?.lease_token;
  const usage = (input: number) => ({ lease_token: token, tokens: { input } });
  yield post(`${at}/usage`, executor, usage(3), usage(4));
  const alive = (input: number) => ({ lease_token: token, usage: { tokens: { input } } });
  yield post(`${at}/heartbeat`, executor, alive(5), alive(6));
  const submission = (result: string) => ({ lease_token: token, result });
  yield post(`${at}/submit`, executor, submission('posts.json'), submission('more.json'));
  const review = yield post(
    `${at}/claim`,
    reviewer,
    { for: 'review' },
    { for: 'review', lease_seconds: 200 },
  );
  const { lease_token } = review;
  yield post(
    `${at}/rework`,
    reviewer,
    { reason: 'too few', lease_token },
    { reason: 'too many', lease_token },
  );
  const claim = (): Step => post(`${at}/claim`, executor, {}, { lease_seconds: 200 });
  token = (yield claim()).lease_token;
  yield post(`${at}/release`, executor, { lease_token: token }, { lease_token: token, reason: 'tired' });
  token = (yield claim()).lease_token;
  const failure = (message: string) => ({ lease_token: token, error: { message } });
  yield post(`${at}/fail`, executor, failure('no answer'), failure('no feed'));
  token = (yield claim()).lease_token;
  yield post(`${at}/submit`, executor, submission('all.json'), submission('each.json'));
  yield post(`${at}/approve`, reviewer, { note: 'good' }, { note: 'very good' });
};

/** A plan whose tasks are stopped, lifted and given up, and whose run is ended. */
const untilClosed: Story = async function* ({ keys, as }, name) {
  const { planner } = keys;
  const tasks = [
    { ref: 'one', title: name },
    { ref: 'two', title: name, depends_on: ['one'] },
  ];
  const plan = (run: string) => ({ run: { name: run }, tasks });
  const { run_id, tasks: made } = yield post('/v1/plans', planner, plan(name), plan(`not ${name}`));
  // The last first: what waits for a task that is given up is blocked.
  for (const { id } of [...made].reverse()) {
    const at = `/v1/tasks/${id}`;
    yield post(`${at}/block`, planner, { kind: 'other', reason: 'wait' }, { kind: 'other', reason: 'stop' });
    yield post(`${at}/unblock`, planner, { reason: 'go on' }, { reason: 'now go on' });
    yield post(`${at}/cancel`, planner, { reason: 'not wanted' }, { reason: 'not needed' });
  }
  const { body: run } = await as('planner').get(`/v1/runs/${run_id}`).expect(200);
  yield patch(`/v1/runs/${run_id}`, planner, run.version, { name: 'renamed' }, { name: 'called so' });
  yield post(`/v1/runs/${run_id}/close`, planner, { reason: 'morning' }, { reason: 'noon' });
};

/** A run and a task of it that limits stop, each recovered. */
const untilRecovered: Story = async function* ({ keys }, name) {
  const { planner, executor, reviewer } = keys;
  const limits = { max_iterations: 1 };
  const run = yield post('/v1/runs', planner, { name, limits }, { name: `not ${name}`, limits });
  const planned = { run_id: run.id, limits: { ...WIDE, max_reworks: 1 } };
  const { id } = yield post('/v1/tasks', planner, { title: name, ...planned }, { title: 'x', ...planned });
  const { lease_token } = yield post(`/v1/tasks/${id}/claim`, executor, {}, { lease_seconds: 200 });
  const changes = { limits: { max_iterations: 1_000 } };
  const recover = (reason: string) => ({ reason, changes });
  yield post(`/v1/runs/${run.id}/recover`, planner, recover('go on'), recover('now go on'));
  const submission = (result: string) => ({ lease_token, result });
  yield post(`/v1/tasks/${id}/submit`, executor, submission('posts.json'), submission('more.json'));
  const rework = yield post(`/v1/tasks/${id}/rework`, reviewer, { reason: 'no' }, { reason: 'never' });
  const lift = (reason: string) => ({ strategy: 'adjust', reason, changes: { acceptance: [reason] } });
  yield post(`/v1/trips/${rework.open_trip_id}/recover`, planner, lift('go on'), lift('now go on'));
  const under = (max_reworks: number) => ({ limits: { max_reworks } });
  yield post('/v1/projects/current/simulate', planner, under(2), under(3));
};

/** A project with an agent of its own, whose breaker is held and closed. */
const untilFounded: Story = async function* ({ keys }, name) {
  // A name is cut of its spaces: another request for the same project.
  const { api_key: key } = yield post('/v1/projects', keys.operator, { name }, { name: `${name} ` });
  const policy = (cooldown_seconds: number) => ({ policies: { cooldown_seconds } });
  yield patch('/v1/projects/current', key, 1, policy(200), policy(400));
  const agent = (...roles: string[]) => ({ name: 'one', roles });
  const { id } = yield post('/v1/agents', key, agent('executor'), agent('executor', 'reviewer'));
  // A key takes no body, so that there is no other request to mistake it for.
  yield post(`/v1/agents/${id}/keys`, key, {}, {});
  const breaker = `/v1/breakers/${id.replace('agt', 'brk')}`;
  yield post(`${breaker}/isolate`, key, { reason: 'nonsense' }, { reason: 'silence' });
  yield post(`${breaker}/close`, key, { reason: 'mended' }, { reason: 'quiet' });
};

export const STORIES: readonly Story[] = [untilDone, untilClosed, untilRecovered, untilFounded];
