import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp, type TestCaller } from '../../support/app.js';

interface WireEvent {
  readonly position: number;
  readonly type: string;
  readonly task_id: string | null;
  readonly number: number | null;
}

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function read(query: string, caller = app.as('manager')): Promise<WireEvent[]> {
  const { body } = await caller.get(`/v1/events?${query}`).expect(200);
  return body.data;
}

async function lastPosition(): Promise<number> {
  return (await read('limit=200')).at(-1)?.position ?? 0;
}

const createTask = async (title: string): Promise<string> =>
  (await app.as('planner').post('/v1/tasks').send({ title }).expect(201)).body.id;

describe('the log', () => {
  it('tells who did what, in the form of the contract', async () => {
    const after = await lastPosition();
    const { id } = await app.newAgent('reviewer');
    const me = await app.as('operator').get('/v1/me').expect(200);
    const [event] = await read(`after=${after}&limit=1`);
    expect(event).toEqual({
      id: expect.stringMatching(/^evt_/),
      position: after + 1,
      type: 'agent.created',
      at: expect.stringMatching(/Z$/),
      task_id: null,
      number: null,
      run_id: null,
      actor: { agent_id: me.body.agent.id, role: 'operator' },
      command: 'create_agent',
      from: null,
      to: null,
      counters: null,
      reason: null,
      request_id: expect.any(String),
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      data: { agent_id: id, name: expect.any(String), roles: ['reviewer'] },
    });
  });

  it('has no gap and no order but the one of its positions, also when many write at once', async () => {
    await Promise.all([
      ...Array.from({ length: 20 }, (_, i) => createTask(`task ${i}`)),
      ...Array.from({ length: 10 }, () => app.newAgent('executor')),
    ]);
    const positions = (await read('limit=200')).map(({ position }) => position);
    expect(positions).toEqual(positions.map((_, i) => i + 1));
  });

  it('is read on from a position or a cursor, page by page', async () => {
    const all = await read('limit=200');
    const seen: WireEvent[] = [];
    let path = '/v1/events?after=2&limit=3';
    while (path !== '') {
      const { body, headers } = await app.as('executor').get(path).expect(200);
      seen.push(...body.data);
      expect(body.has_more).toBe(body.next_cursor !== null);
      path = /<(.+)>/.exec(headers.link ?? '')?.[1] ?? '';
    }
    expect(seen).toEqual(all.slice(2));
    const { body } = await app.as('executor').get('/v1/events?limit=3').expect(200);
    expect(await read(`after=${body.next_cursor}&limit=3`)).toEqual(all.slice(3, 6));
  });

  it('is read by type, task and agent', async () => {
    const task = await createTask('followed');
    const executor = await app.newAgent('executor');
    await executor.http.post(`/v1/tasks/${task}/claim`).send({}).expect(200);
    expect((await read(`task_id=${task}`)).map(({ type, number }) => [type, number])).toEqual([
      ['task.created', 1],
      ['task.claimed', 2],
    ]);
    expect((await read(`agent_id=${executor.id}`)).map(({ type }) => type)).toEqual(['task.claimed']);
    const types = new Set(
      (await read('type=task.claimed&type=key.created&limit=200')).map(({ type }) => type),
    );
    expect(types).toEqual(new Set(['task.claimed', 'key.created']));
    expect(await read(`task_id=${task}&agent_id=${executor.id}&type=task.created`)).toEqual([]);
  });

  it('of another project is not shown', async () => {
    const other = await app.newProject();
    const theirs = await read('limit=200', other.http);
    expect(theirs.map(({ type }) => type)).toEqual([
      'project.created',
      'agent.created',
      'key.created',
      'run.created',
    ]);
    const task = await createTask('mine');
    expect(await read(`task_id=${task}`, other.http)).toEqual([]);
  });

  it.each([
    'after=-1',
    'after=x',
    'cursor=5x',
    'type=task.exploded',
    'task_id=5',
    'limit=201',
    'wait_seconds=31',
    'x=1',
  ])('refuses ?%s', async (query) => {
    const { body } = await app.as('manager').get(`/v1/events?${query}`).expect(400);
    expect(body.code).toBe('invalid_request');
  });

  it('is waited for where there is nothing yet', async () => {
    const after = await lastPosition();
    const waiting = read(`after=${after}&wait_seconds=20`);
    await createTask('awaited');
    expect((await waiting).map(({ type }) => type)).toEqual(['task.created']);
  });
});

/** A stream as a client reads it. */
class StreamReader {
  private text = '';

  private constructor(
    readonly response: Response,
    private readonly reader: ReadableStreamDefaultReader<Uint8Array>,
    private readonly controller: AbortController,
  ) {}

  static async open(
    query: string,
    caller: string,
    headers: Record<string, string> = {},
  ): Promise<StreamReader> {
    const controller = new AbortController();
    const response = await fetch(`${app.url}/v1/events/stream?${query}`, {
      headers: { authorization: `Bearer ${caller}`, ...headers },
      signal: controller.signal,
    });
    if (response.body === null) throw new Error('a stream without a body');
    return new StreamReader(response, response.body.getReader(), controller);
  }

  /** Reads on until so many events have come, or the stream ends. */
  async events(count: number): Promise<WireEvent[]> {
    for (;;) {
      const found = [...this.text.matchAll(/^id: (\d+)\nevent: (\S+)\ndata: (.+)\n\n/gm)];
      if (found.length >= count) return found.map(([, , , data]) => JSON.parse(data ?? ''));
      const { done, value } = await this.reader.read();
      if (done) return found.map(([, , , data]) => JSON.parse(data ?? ''));
      this.text += Buffer.from(value).toString('utf8');
    }
  }

  hangUp(): void {
    this.controller.abort();
  }
}

describe('the stream', () => {
  it('gives what has happened, then what happens', async () => {
    const all = await read('limit=200');
    const stream = await StreamReader.open('', app.keys.manager);
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(await stream.events(all.length)).toEqual(all);
    const task = await createTask('streamed');
    const events = await stream.events(all.length + 1);
    expect(events.at(-1)).toMatchObject({ type: 'task.created', task_id: task });
    stream.hangUp();
  });

  it('goes on after Last-Event-ID', async () => {
    const all = await read('limit=200');
    const stream = await StreamReader.open('after=0', app.keys.manager, { 'last-event-id': '5' });
    expect(await stream.events(3)).toEqual(expect.arrayContaining(all.slice(5, 8)));
    expect((await stream.events(1))[0]?.position).toBe(6);
    stream.hangUp();
  });

  it('gives only what is asked for', async () => {
    const stream = await StreamReader.open('type=project.created', app.keys.manager);
    await app.newProject('streamed');
    const events = await stream.events(2);
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['project.created']));
    stream.hangUp();
  });

  it('holds no database connection while nothing happens', async () => {
    const after = await lastPosition();
    const streams = await Promise.all(
      Array.from({ length: 40 }, () => StreamReader.open(`after=${after}`, app.keys.manager)),
    );
    await createTask('while forty listen');
    const events = await Promise.all(streams.map((stream) => stream.events(1)));
    expect(events.map(([event]) => event?.position)).toEqual(streams.map(() => after + 1));
    for (const stream of streams) stream.hangUp();
  });

  it('refuses a Last-Event-ID that is no position', async () => {
    const answer = await app.as('manager').get('/v1/events/stream').set('last-event-id', 'x').expect(400);
    expect(answer.body.errors[0].pointer).toBe('/headers/last-event-id');
  });

  it('ends cleanly when the server stops', async () => {
    const own = await startTestApp();
    const response = await fetch(`${own.url}/v1/events/stream?after=1000`, {
      headers: { authorization: `Bearer ${own.keys.manager}` },
    });
    const text = response.text();
    const waiting = own.as('manager').get('/v1/events?after=1000&wait_seconds=30').expect(200);
    const arrived = once(own.app.server, 'request');
    const answered = waiting.then((answer) => answer.body.data);
    await arrived;
    await own.close();
    expect(await text).toBe('retry: 1000\n\n');
    expect(await answered).toEqual([]);
  });
});

it('a commit of another process is found without a word of it', async () => {
  const caller: TestCaller = await app.newAgent('manager');
  const after = await lastPosition();
  const waiting = read(`after=${after}&wait_seconds=20`, caller.http);
  const { rows } = await app.pool.query('SELECT id FROM projects WHERE is_default');
  const client = await app.pool.connect();
  await client.query('BEGIN');
  await client.query('UPDATE projects SET position = position + 1, revision = revision + 1 WHERE is_default');
  await client.query(
    `INSERT INTO events (project_id, position, id, type, at, role, command, request_id, trace_id)
      VALUES ($1, $2, gen_random_uuid(), 'run.updated', now(), 'server', 'x', 'r', 't')`,
    [rows[0].id, after + 1],
  );
  await client.query('COMMIT');
  client.release();
  expect((await waiting).map(({ position }) => position)).toEqual([after + 1]);
});
