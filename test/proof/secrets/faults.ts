import pg from 'pg';
import { inject } from 'vitest';
import type { TestApp } from '../../support/app.js';
import { WORDS } from './marks.js';
import type { Witness } from './witness.js';

/** Every way of being refused, with marks in what is refused. */
export async function beRefused(app: TestApp, witness: Witness): Promise<void> {
  const planner = app.as('planner');
  const executor = app.as('executor');
  const marked = { title: WORDS.title, description: WORDS.description };
  const { body: task } = await planner.post('/v1/tasks').send({ title: 'to be fought over' }).expect(201);
  const path = `/v1/tasks/${task.id}`;
  const patch = () => planner.patch(path).send({ description: WORDS.description });
  await witness.see('create_task', planner.post('/v1/tasks').send({ ...marked, priority: WORDS.title }));
  await witness.see('create_task', planner.post('/v1/tasks').send({ ...marked, no_such: WORDS.description }));
  await witness.see('create_task', app.withKey(null).post('/v1/tasks').send(marked));
  await witness.see('create_task', executor.post('/v1/tasks').send(marked));
  const nobodys = '/v1/tasks/task_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b/cancel';
  await witness.see('cancel_task', planner.post(nobodys).send({ reason: WORDS.cancelReason }));
  await witness.see('update_task', planner.put(path).send(marked));
  await witness.see('update_task', patch());
  await witness.see('update_task', patch().set('if-match', '"v77"'));
  await witness.see('approve_task', app.as('reviewer').post(`${path}/approve`).send({ note: WORDS.note }));
  await witness.see('create_task', planner.post('/v1/tasks').type('text/plain').send(WORDS.description));
  await witness.see('create_task', planner.post('/v1/tasks').type('json').send(`{"title":"${WORDS.title}`));
  const large = { ...marked, description: WORDS.description.repeat(100_000) };
  await witness.see('create_task', planner.post('/v1/tasks').send(large));
  const again = (title: string) =>
    planner.post('/v1/tasks').set('idempotency-key', WORDS.retryKey).send({ title });
  await witness.see('create_task', again(WORDS.title));
  await witness.see('create_task', again(WORDS.label));
  const many = { tasks: Array.from({ length: 101 }, (_, n) => ({ ref: `part ${n}`, title: WORDS.title })) };
  await witness.see('create_plan', planner.post('/v1/plans').send(many));
}

/** Faults of the database that have a row, or a value, to tell of. */
export async function breakStatements(app: TestApp, witness: Witness): Promise<void> {
  const planner = app.as('planner');
  const executor = app.as('executor');
  await app.pool.query(`CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM NEW.description::integer; RETURN NEW; END $$`);
  await app.pool.query(
    'CREATE TRIGGER planted BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION planted()',
  );
  const marked = { title: WORDS.title, description: WORDS.description };
  await witness.see('create_task', planner.post('/v1/tasks').send(marked));
  await app.pool.query('DROP TRIGGER planted ON tasks');
  const { body: task } = await planner.post('/v1/tasks').send({ title: 'to be handed in' }).expect(201);
  const { body: claim } = await executor.post(`/v1/tasks/${task.id}/claim`).send({}).expect(200);
  await app.pool.query('ALTER TABLE attempts ADD CONSTRAINT planted CHECK (result IS NULL) NOT VALID');
  const submission = { lease_token: claim.lease_token, result: WORDS.result };
  await witness.see('submit_task', executor.post(`/v1/tasks/${task.id}/submit`).send(submission));
  await app.pool.query('ALTER TABLE attempts DROP CONSTRAINT planted');
  await app.pool.query('ALTER TABLE agents RENAME COLUMN name TO planted');
  await witness.see('list_agents', app.as('operator').get('/v1/agents'));
  await app.pool.query('ALTER TABLE agents RENAME COLUMN planted TO name');
}

/** A database that takes no connection while `meanwhile` goes on. */
export async function whileAway(app: TestApp, meanwhile: () => Promise<void>): Promise<void> {
  const name = new URL(app.databaseUrl).pathname.slice(1);
  const client = new pg.Client({ connectionString: inject('serverUrl') });
  await client.connect();
  try {
    await client.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    await meanwhile();
  } finally {
    await client.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`);
    await client.end();
  }
}
