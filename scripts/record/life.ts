import { setTimeout as pause } from 'node:timers/promises';
import type { Answered, Caller } from './caller.js';

const USAGE = {
  tokens: { input: 100, output: 20, cache_read: 3, cache_write: 4 },
  cost_usd: 0.01,
  iterations: 1,
};

/** What a test repeats word for word after the upgrade. */
export interface Repeatable {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body: object;
  readonly answer: Readonly<Record<string, unknown>>;
}

/** Lives on a board until there is one of everything: every state, outcome, trip, breaker and kind of event. */
export class Life {
  private said = 0;

  constructor(private readonly caller: Caller) {}

  /** All of it. Answers the command to repeat. */
  async live(): Promise<Repeatable> {
    await this.people();
    await this.runs();
    await this.loops();
    await this.replaced();
    await this.failures();
    await this.breakers();
    await this.open();
    return this.repeatable();
  }

  private post(agent: string, path: string, body: object = {}): Promise<Answered> {
    return this.caller.ask(agent, 'POST', `/v1${path}`, body);
  }

  private async create(fields: object = {}): Promise<string> {
    return String((await this.post('planner', '/tasks', { title: 'Fetch the posts', ...fields })).body.id);
  }

  private async claim(id: string, agent = 'executor', fields: object = {}): Promise<object> {
    const { body } = await this.post(agent, `/tasks/${id}/claim`, fields);
    return { lease_token: body.lease_token };
  }

  private async submit(id: string, fields: object = {}): Promise<void> {
    const held = await this.claim(id);
    await this.post('executor', `/tasks/${id}/submit`, {
      ...held,
      result: { file: 'posts.json' },
      ...fields,
    });
  }

  private async rework(id: string, fields: object = {}): Promise<void> {
    this.said += 1;
    await this.post('reviewer', `/tasks/${id}/rework`, { reason: `objection ${this.said}`, ...fields });
  }

  private async lap(id: string, times = 1): Promise<void> {
    for (let n = 0; n < times; n += 1) {
      await this.submit(id, { usage: USAGE });
      await this.rework(id);
    }
  }

  private async tripOf(id: string): Promise<string> {
    return String((await this.caller.ask('planner', 'GET', `/v1/tasks/${id}`)).body.open_trip_id);
  }

  /** An agent with a second key, and one whose key was revoked; limits and policies of the project. */
  private async people(): Promise<void> {
    const { body: second } = await this.post('operator', '/agents', { name: 'Zoë ✓', roles: ['executor'] });
    const { body: gone } = await this.post('operator', '/agents', {
      name: 'gone',
      roles: ['reviewer', 'planner'],
    });
    await this.post('operator', `/agents/${second.id}/keys`);
    const { body: key } = await this.post('operator', `/agents/${gone.id}/keys`);
    await this.caller.ask('operator', 'DELETE', `/v1/agents/${gone.id}/keys/${key.id}`);
    await this.post('operator', '/projects', { name: 'another' });
    const settings = { limits: { max_tokens: 5_000, max_reworks: 2 }, policies: { cooldown_seconds: 1 } };
    await this.caller.ask('operator', 'PATCH', '/v1/projects/current', settings, { 'if-match': '*' });
  }

  /** Runs that go on in both modes, one that its limit stopped, one that goes on after that, and one that is closed. */
  private async runs(): Promise<void> {
    const begin = async (fields: object) =>
      String((await this.post('planner', '/runs', { name: 'night', ...fields })).body.id);
    const total = await begin({ limits: { max_reworks: 9 }, deadline_at: '2099-01-01T00:00:00Z' });
    await this.lap(await this.create({ run_id: total }), 2);
    const progress = await begin({ iteration_mode: 'since_progress' });
    await this.submit(await this.create({ run_id: progress }), { usage: USAGE });
    await this.claim(await this.create({ run_id: progress }));
    const tripped = await begin({ limits: { max_iterations: 2 } });
    await this.submit(await this.create({ run_id: tripped }), { usage: USAGE });
    const recovered = await begin({ limits: { max_iterations: 2 } });
    await this.submit(await this.create({ run_id: recovered }), { usage: USAGE });
    await this.post('planner', `/runs/${recovered}/recover`, { reason: 'go on', reset_tokens: true });
    await this.submit(await this.create({ run_id: recovered }));
    const closed = await begin({});
    await this.submit(await this.create({ run_id: closed }));
    await this.post('planner', `/runs/${closed}/close`, { reason: 'over' });
  }

  /** Approved at once and after a rework, blocked by reworks and by tokens, unblocked, taken apart, escalated. */
  private async loops(): Promise<void> {
    const done = await this.create({
      description: 'Ein Ö, a “quote”, a \\ and 日本語',
      acceptance: ['50 posts'],
      labels: ['crawl'],
    });
    await this.lap(done);
    await this.submit(done, { usage: USAGE, change: { lines: 12, files: 2 } });
    await this.post('reviewer', `/tasks/${done}/claim`);
    await this.post('reviewer', `/tasks/${done}/approve`, { note: 'well' });
    const blocked = await this.create();
    await this.lap(blocked, 2);
    await this.caller.send('executor', 'POST', `/v1/tasks/${blocked}/claim`, {});
    const unblocked = await this.create();
    await this.lap(unblocked, 2);
    const changes = { acceptance: ['20 posts are stored'] };
    const form = { reason: 'Twenty are enough', assessment: 'acceptance_too_high', changes };
    await this.post('planner', `/tasks/${unblocked}/unblock`, form);
    await this.lap(unblocked);
    const whole = await this.create();
    await this.lap(whole, 2);
    const tasks = [
      { ref: 'a', title: 'One half' },
      { ref: 'b', title: 'The other', depends_on: ['a'] },
    ];
    await this.post('planner', `/trips/${await this.tripOf(whole)}/recover`, {
      strategy: 'split',
      reason: 'too much',
      tasks,
    });
    const tokens = await this.create({ limits: { max_tokens: 100 } });
    await this.submit(tokens, { usage: USAGE });
    await this.post('planner', `/trips/${await this.tripOf(tokens)}/recover`, {
      strategy: 'escalate',
      reason: 'too odd',
    });
  }

  /** Replaced, given up under a trip, waiting, and waiting in vain. */
  private async replaced(): Promise<void> {
    const old = await this.create({ dedupe_key: 'posts' });
    await this.lap(old);
    const next = await this.create({ supersedes: old, dedupe_key: 'posts', priority: 0 });
    await this.post('executor', `/tasks/${old}/usage`, { attempt: 1, tokens: { input: 7 } });
    await this.create({ depends_on: [old] });
    await this.submit(next);
    const stopped = await this.create();
    await this.lap(stopped, 2);
    await this.create({ supersedes: stopped, description: 'said better' });
    const lost = await this.create();
    await this.create({ depends_on: [lost] });
    await this.post('planner', `/tasks/${lost}/cancel`, { reason: 'not wanted' });
    await this.create({ not_before: '2099-01-01T00:00:00Z' });
  }

  /** Every way in which an attempt or a review ends without a result. */
  private async failures(): Promise<void> {
    const failed = await this.create();
    const error = { message: 'no answer from 10.0.0.1', detail: { tries: 3 } };
    await this.post('executor', `/tasks/${failed}/fail`, { ...(await this.claim(failed)), error });
    await this.post('executor', `/tasks/${failed}/release`, {
      ...(await this.claim(failed)),
      reason: 'no time',
    });
    const late = await this.claim(failed, 'executor', { lease_seconds: 1 });
    const reviewed = await this.create();
    await this.submit(reviewed);
    await this.post('reviewer', `/tasks/${reviewed}/claim`, { lease_seconds: 1 });
    await pause(1_500);
    await this.caller.send('executor', 'POST', `/v1/tasks/${failed}/submit`, { ...late, result: 'too late' });
    await this.rework(reviewed, { class: 'infrastructure' });
    const stopped = await this.create();
    const held = await this.claim(stopped);
    await this.post('planner', `/tasks/${stopped}/block`, { kind: 'needs_input', reason: 'which account?' });
    await this.post('executor', `/tasks/${stopped}/submit`, { ...held, result: 'half of it' });
    // Its errors block it; it recovers by itself and is tried once more.
    const probed = await this.create();
    for (let n = 0; n < 3; n += 1) {
      await this.post('executor', `/tasks/${probed}/fail`, { ...(await this.claim(probed)), error });
    }
    await pause(1_500);
    await this.claim(probed);
  }

  /** An agent that cannot work, and a breaker that a person holds open. */
  private async breakers(): Promise<void> {
    const { body } = await this.post('operator', '/agents', { name: 'ill', roles: ['executor'] });
    const ill = new Life(this.caller.with('ill', String(body.api_key)));
    const id = await this.create();
    const error = { class: 'fatal', message: 'the key was revoked' };
    await ill.post('ill', `/tasks/${id}/fail`, { ...(await ill.claim(id, 'ill')), error });
    const breaker = String(body.id).replace('agt_', 'brk_');
    await this.post('operator', `/breakers/${breaker}/isolate`, { reason: 'until Monday' });
    const settings = { policies: { cooldown_seconds: 300 } };
    await this.caller.ask('operator', 'PATCH', '/v1/projects/current', settings, { 'if-match': '*' });
  }

  /** What is under way: waiting, at work, in review, under review. */
  private async open(): Promise<void> {
    for (const title of ['waits', 'is worked on', 'is in review', 'is judged']) {
      const id = await this.create({ title, labels: ['open'] });
      if (title === 'is worked on') await this.claim(id, 'executor', { lease_seconds: 86_400 });
      if (title === 'is in review' || title === 'is judged') await this.submit(id);
      if (title === 'is judged') await this.claim(id, 'reviewer', { lease_seconds: 86_400 });
    }
  }

  private async repeatable(): Promise<Repeatable> {
    const [method, path, key] = ['POST', '/v1/tasks', 'once'];
    const body = { title: 'Sent twice' };
    const answered = await this.caller.ask('planner', method, path, body, { 'idempotency-key': key });
    return { method, path, key, body, answer: answered.body };
  }
}
