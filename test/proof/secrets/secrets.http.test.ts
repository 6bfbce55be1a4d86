import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashOf, newKey } from '../../../src/modules/agents/keys.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { OPERATIONS } from '../hostile/contract.js';
import { beRefused, breakStatements, whileAway } from './faults.js';
import { Life } from './life.js';
import { CUT_OFF, MISPLACED, WORDS } from './marks.js';
import { MAY_STAND } from './may-stand.js';
import { misplaceKeys } from './misplace.js';
import { Witness } from './witness.js';

const REFUSALS = [400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 428, 429, 500, 503];

/** Starts a service whose every line can be read, also those of its pool. */
async function startScene(level: string): Promise<TestApp> {
  const app = await startTestApp({ config: { LOG_LEVEL: level, FUSEBOARD_CREATE_LIMIT_PER_MINUTE: '100' } });
  app.pool
    .removeAllListeners('error')
    .on('error', (error) => app.deps.log.logger.warn({ err: error }, 'a connection was lost'));
  return app;
}

describe.each(['info', 'debug', 'trace'])('at the log level %s', (level) => {
  const witness = new Witness();
  let app: TestApp;
  let life: Life;

  beforeAll(async () => {
    app = await startScene(level);
    life = new Life(app, witness);
    await life.live();
    await misplaceKeys(app, witness, life.revoked[0] ?? '');
    await breakStatements(app, witness);
    await whileAway(app, async () => {
      const { planner, operator } = { planner: app.as('planner'), operator: app.as('operator') };
      await witness.see('create_task', planner.post('/v1/tasks').send({ title: WORDS.title }));
      await witness.see('list_agents', operator.get('/v1/agents'));
    });
    await beRefused(app, witness);
    witness.read(app.logLines);
    await witness.search(app.pool);
  });
  afterAll(() => app.close());

  it('every operation was carried out, and refused in every way', () => {
    const never = OPERATIONS.map(({ id }) => id).filter((id) => !witness.done.has(id));
    expect(never).toEqual([]);
    expect([...witness.statuses]).toEqual(expect.arrayContaining(REFUSALS));
  });

  it('what agents write stands only where it may, and is found there', () => {
    for (const [name, mark] of Object.entries(WORDS)) {
      const allowed = Object.entries(MAY_STAND).find(([word]) => word === name)?.[1] ?? [];
      const places = witness.placesOf(mark);
      expect(allowed, name).toEqual(expect.arrayContaining(places));
      expect(places.length > 0, name).toBe(allowed.length > 0);
    }
  });

  it('a key stands in the one answer that tells it, and as a hash', async () => {
    const { rows } = await app.pool.query<{ hash: Buffer }>('SELECT hash FROM api_keys');
    const hashes = rows.map(({ hash }) => hash.toString('hex'));
    for (const key of [...Object.values(app.keys), ...life.issued, ...life.revoked]) {
      const told = ['answer create_agent', 'answer create_agent_key', 'answer create_project'];
      expect(told).toEqual(expect.arrayContaining(witness.placesOf(key)));
      expect(hashes).toContain(hashOf(key).toString('hex'));
    }
  });

  it('a key that is sent where it does not belong, or opens nothing, is kept nowhere', () => {
    const { path, ...others } = MISPLACED;
    for (const [name, key] of Object.entries({ ...others, CUT_OFF }))
      expect(witness.placesOf(key), name).toEqual([]);
    // A refusal names the address that it is about, to whoever sent it.
    const repeated = ['problem invalid_request', 'problem method_not_allowed', 'problem not_found'];
    expect(repeated).toEqual(expect.arrayContaining(witness.placesOf(path)));
  });

  it('the password of the database is told to nobody', () => {
    const { password } = new URL(app.databaseUrl);
    expect(password).not.toBe('');
    expect(witness.placesOf(password)).toEqual([]);
  });
});

describe('the search finds', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startScene('info');
  });
  afterAll(() => app.close());

  it('a key in a line of the log', () => {
    const { token } = newKey();
    app.deps.log.logger.info({ sent: { headers: { authorization: `Bearer ${token}` } } }, 'planted');
    const witness = new Witness();
    witness.read(app.logLines);
    expect(witness.placesOf(token)).toEqual(['log']);
  });

  it('a key in base64', () => {
    const { token } = newKey();
    const witness = new Witness();
    witness.hear('get_me', 200, Buffer.from(token).toString('base64'));
    expect(witness.placesOf(token)).toEqual(['answer get_me']);
  });

  it('a key in a column of any table', async () => {
    const { token } = newKey();
    await app.pool.query('UPDATE runs SET limits = jsonb_build_object($1::text, 1)', [token]);
    const witness = new Witness();
    await witness.search(app.pool);
    expect(witness.placesOf(token)).toEqual(['runs.limits']);
  });

  it('a mark in a refusal', () => {
    const witness = new Witness();
    witness.hear('claim_task', 409, `{"code":"task_blocked","request_id":"x","because":"${WORDS.result}"}`);
    expect(witness.placesOf(WORDS.result)).toEqual(['problem task_blocked']);
  });
});
