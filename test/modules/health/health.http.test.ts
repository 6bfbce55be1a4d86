import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Health } from '../../../src/modules/health/index.js';
import { INVARIANTS } from '../../../src/modules/health/types.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { Play } from '../../support/play.js';

const PATH = '/v1/health/invariants';

let app: TestApp;
let play: Play;
let projectId: string;
beforeAll(async () => {
  app = await startTestApp();
  play = new Play(app);
  for (let n = 0; n < 12; n += 1) await play.done();
  projectId = (await app.pool.query("SELECT id FROM projects WHERE name = 'default'")).rows[0].id;
});
afterAll(() => app.close());

interface CheckedRule {
  readonly rule: string;
  readonly broken: number;
  readonly examples: readonly string[];
}

const brokenIn = (body: { rules: readonly CheckedRule[] }): CheckedRule[] =>
  body.rules.filter(({ broken }) => broken > 0);

/** While it is held, nobody reads a task. */
async function holdTasks() {
  const client = await app.pool.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE');
  return async () => {
    await client.query('ROLLBACK');
    client.release();
  };
}

describe('a check', () => {
  it('tells every rule with its promise, and the position and time at which it held', async () => {
    app.clock.advance(3600);
    const { body } = await play.operator.get(PATH).expect(200);
    const { rows } = await app.pool.query('SELECT position FROM projects WHERE id = $1', [projectId]);
    expect(body).toMatchObject({ ok: true, position: rows[0].position });
    expect(body.rules).toEqual(
      INVARIANTS.map(({ rule, promise }) => ({ rule, promise, broken: 0, examples: [] })),
    );
    const ahead = Date.parse(body.checked_at) - Date.now();
    expect(ahead).toBeGreaterThan(3_500_000);
    expect(ahead).toBeLessThan(3_700_000);
  });

  it('is for operators', async () => {
    for (const role of ['planner', 'executor', 'reviewer', 'manager'] as const) {
      const { body } = await app.as(role).get(PATH).expect(403);
      expect(body).toMatchObject({ code: 'forbidden_role', required_roles: ['operator'] });
    }
    await app.withKey(null).get(PATH).expect(401);
  });

  it('answers 200 when something is broken too, says how much, and names ten of it', async () => {
    await app.pool.query('UPDATE tasks SET review_failures = 1 WHERE project_id = $1', [projectId]);
    const { body } = await play.operator.get(PATH).expect(200);
    expect(body.ok).toBe(false);
    const [counters, ...others] = brokenIn(body);
    expect(counters).toMatchObject({ rule: 'last_counters', broken: 12 });
    expect(others).toEqual([]);
    const { body: tasks } = await play.operator.get('/v1/tasks').expect(200);
    const ids = tasks.data.map(({ id }: { id: string }) => id).sort();
    expect(counters?.examples).toEqual(ids.slice(0, 10));
    await app.pool.query('UPDATE tasks SET review_failures = 0 WHERE project_id = $1', [projectId]);
  });

  it('says nothing of another project', async () => {
    const stranger = await app.newProject();
    await app.pool.query('UPDATE tasks SET review_failures = 1 WHERE project_id = $1', [projectId]);
    const { body } = await stranger.http.get(PATH).expect(200);
    expect(body.ok).toBe(true);
    expect(body.position).toBeLessThan(10);
    await app.pool.query('UPDATE tasks SET review_failures = 0 WHERE project_id = $1', [projectId]);
  });

  it('changes nothing', async () => {
    const before = await app.pool.query('SELECT revision, position FROM projects');
    await play.operator.get(PATH).expect(200);
    expect((await app.pool.query('SELECT revision, position FROM projects')).rows).toEqual(before.rows);
  });
});

describe('while a check is running', () => {
  it('another is refused and told when to ask again, and the first is answered', async () => {
    const letGo = await holdTasks();
    const first = app.deps.health.check(projectId);
    const { body, headers } = await play.operator.get(PATH).expect(503);
    expect(body).toMatchObject({ code: 'overloaded', retryable: true });
    expect(headers['retry-after']).toBe('5');
    await letGo();
    expect(await first).toMatchObject({ ok: true, value: { ok: true } });
    await play.operator.get(PATH).expect(200);
  });

  it('it takes no connection from those who work', async () => {
    const busy = [];
    for (let n = app.pool.options.max; n > 0; n -= 1) busy.push(await app.pool.connect());
    const result = await app.deps.health.check(projectId);
    for (const client of busy) client.release();
    expect(result).toMatchObject({ ok: true, value: { ok: true } });
  });
});

describe('a check that takes too long', () => {
  it('is given up, says what to do instead, and lets the next one begin', async () => {
    const { databaseUrl, clock } = app;
    const health = new Health({ databaseUrl, clock, timeoutMs: 100 });
    const letGo = await holdTasks();
    const refused = await health.check(projectId);
    await letGo();
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'overloaded', retryAfterSeconds: 1 } });
    expect(refused.ok || refused.refusal.detail).toContain('restore a backup');
    const left = await app.pool.query(
      "SELECT 1 FROM pg_stat_activity WHERE application_name = 'fuseboard-check' AND datname = current_database() AND state = 'active'",
    );
    expect(left.rows).toEqual([]);
    expect(await new Health({ databaseUrl, clock }).check(projectId)).toMatchObject({ ok: true });
  });

  it('and one that fails for another reason is no refusal, and lets the next one begin', async () => {
    const nowhere = '00000000-0000-7000-8000-000000000001';
    await expect(app.deps.health.check(nowhere)).rejects.toThrow('is not there');
    await play.operator.get(PATH).expect(200);
  });
});
