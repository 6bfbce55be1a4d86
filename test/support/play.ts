import type { Test } from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { expect } from 'vitest';
import type { TestApp } from './app.js';
import { audit } from './audit.js';

/** What a holder of a task knows of its claim. */
export interface Held {
  readonly id: string;
  readonly token: number;
  readonly attempt: number;
}

/** What tests read of a task on the wire. */
export interface TaskBody {
  readonly id: string;
  readonly run_id: string;
  readonly state: string;
  readonly attempt: number;
  readonly claimed_by: string | null;
  readonly rework_count: number;
  readonly version: number;
  readonly open_trip_id: string | null;
  readonly created_at: string;
}

/** What tests read of an event on the wire. */
export interface EventBody {
  readonly type: string;
  readonly task_id: string | null;
  readonly number: number | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly actor: { readonly agent_id: string | null; readonly role: string };
  readonly data: Readonly<Record<string, unknown>>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Sends a command on a task. */
export function send(agent: TestAgent, id: string, command: string, body: Fields = {}): Test {
  return agent.post(`/v1/tasks/${id}/${command}`).send(body);
}

/** The moves of the loop, by the five agents of the default project unless others are named. */
export class Play {
  readonly planner: TestAgent;
  readonly executor: TestAgent;
  readonly reviewer: TestAgent;
  readonly operator: TestAgent;
  private said = 0;

  constructor(readonly app: TestApp) {
    this.planner = app.as('planner');
    this.executor = app.as('executor');
    this.reviewer = app.as('reviewer');
    this.operator = app.as('operator');
  }

  async create(fields: Fields = {}): Promise<TaskBody> {
    const { body } = await this.planner
      .post('/v1/tasks')
      .send({ title: 'Fetch the posts', ...fields })
      .expect(201);
    return body;
  }

  async task(id: string): Promise<TaskBody> {
    return (await this.planner.get(`/v1/tasks/${id}`).expect(200)).body;
  }

  async claim(id: string, agent = this.executor, fields: Fields = {}): Promise<Held> {
    const { body } = await send(agent, id, 'claim', fields).expect(200);
    return { id, token: body.lease_token, attempt: body.attempt };
  }

  submit(held: Held, agent = this.executor, fields: Fields = {}): Test {
    return send(agent, held.id, 'submit', { lease_token: held.token, result: 'posts.json', ...fields });
  }

  fail(held: Held, agent = this.executor, error: Fields = {}): Test {
    return send(agent, held.id, 'fail', {
      lease_token: held.token,
      error: { message: 'no answer', ...error },
    });
  }

  /** Sends the attempt back, each time with a reason of its own. */
  rework(id: string, agent = this.reviewer, fields: Fields = {}): Test {
    this.said += 1;
    return send(agent, id, 'rework', { reason: `objection ${this.said}`, ...fields });
  }

  approve(id: string, agent = this.reviewer, fields: Fields = {}): Test {
    return send(agent, id, 'approve', fields);
  }

  unblock(id: string, agent = this.planner, fields: Fields = {}): Test {
    return send(agent, id, 'unblock', { reason: 'go on', ...fields });
  }

  /** Claims and hands in, so that the task is in review. */
  async toReview(id: string, agent = this.executor): Promise<Held> {
    const held = await this.claim(id, agent);
    await this.submit(held, agent).expect(200);
    return held;
  }

  /** Once round: claimed, handed in, sent back. */
  async lap(id: string): Promise<TaskBody> {
    await this.toReview(id);
    return (await this.rework(id).expect(200)).body;
  }

  /** Sent back until the limit blocks it. */
  async tripByRework(id: string, times = 5): Promise<TaskBody> {
    let last = await this.lap(id);
    for (let lap = 2; lap <= times; lap += 1) last = await this.lap(id);
    expect(last.state).toBe('blocked');
    return last;
  }

  /** A task that an approval has made done. */
  async done(fields: Fields = {}): Promise<TaskBody> {
    const { id } = await this.create(fields);
    await this.toReview(id);
    return (await this.approve(id).expect(200)).body;
  }

  async events(id: string, ...types: string[]): Promise<EventBody[]> {
    const query = new URLSearchParams({ task_id: id, limit: '200' });
    for (const type of types) query.append('type', type);
    return (await this.planner.get(`/v1/events?${query}`).expect(200)).body.data;
  }

  async attempts(id: string): Promise<readonly Fields[]> {
    return (await this.planner.get(`/v1/tasks/${id}/attempts?limit=200`).expect(200)).body.data;
  }

  /** Everything that was done so far left the rows and the log in agreement. */
  async expectSound(): Promise<void> {
    expect(await audit(this.app.pool)).toEqual({});
  }
}
