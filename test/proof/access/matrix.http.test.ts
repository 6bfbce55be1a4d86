import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLES, type Role, roleFor } from '../../../src/kernel/actor.js';
import { newKey } from '../../../src/modules/agents/keys.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { someActor } from '../../support/http-app.js';
import { Play } from '../../support/play.js';
import { type Answered, bearer, call, codeIn, idsIn, type Ready, told, withUnknownIds } from './call.js';
import { type DeclaredRoute, withRoutes } from './routes.js';
import { SCENES } from './scenes.js';
import { ROWS, type Row } from './table.js';

let app: TestApp;
let play: Play;
let routes: readonly DeclaredRoute[];
/** Whom nobody knows, by what is wrong with the key. */
const unknown = new Map<string, string | null>();
/** Agents of another project, by what they may do there. */
const foreign = new Map<string, string>();

beforeAll(async () => {
  ({ app, routes } = await withRoutes(() => startTestApp()));
  play = new Play(app);
  const everything = { name: 'of every role', roles: [...ROLES] };
  const { body: former } = await play.operator.post('/v1/agents').send(everything).expect(201);
  await play.operator.delete(`/v1/agents/${former.id}/keys/${former.keys[0].id}`).expect(204);
  unknown
    .set('no key', null)
    .set('a malformed key', bearer('fb_wrong'))
    .set('a key with one letter wrong', bearer(`${app.keys.operator.slice(0, -1)}~`))
    .set('a key in another scheme', `Basic ${app.keys.operator}`)
    .set('a key that nobody was given', bearer(newKey().token))
    .set('a revoked key of every role', bearer(former.api_key));
  const there = await app.newProject('elsewhere');
  const { body: guest } = await there.http.post('/v1/agents').send(everything).expect(201);
  foreign
    .set('the operator of another project', there.key)
    .set('an agent of every role of another project', guest.api_key);
});
afterAll(() => app.close());

/** Where the logs and revisions of those projects stand. */
async function positionsOf(which: 'is_default' | 'true'): Promise<unknown[]> {
  const { rows } = await app.pool.query(
    `SELECT name, revision, position FROM projects WHERE ${which} ORDER BY id`,
  );
  return rows;
}

/** Every row of every table, but for when agents were last seen, as one number. */
async function everyRow(): Promise<unknown[]> {
  const { rows: tables } = await app.pool.query<{ name: string }>(
    "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  const all = tables.map(({ name }) => `SELECT to_jsonb(t) - 'last_seen_at' AS row FROM ${name} t`);
  const { rows } = await app.pool.query(
    `SELECT count(*), md5(string_agg(row::text, ',' ORDER BY row::text)) FROM (${all.join(' UNION ALL ')}) x`,
  );
  return rows;
}

async function readyFor(row: Row, role: Role): Promise<Ready> {
  const scene = SCENES[row.name];
  if (scene === undefined) throw new Error(`${row.name} has no scene`);
  return { method: row.method, ...(await scene(play, role)) };
}

/** Sends a call that must be refused, and proves that it left no trace. */
async function refused(ready: Ready, authorization: string | null): Promise<Answered> {
  const before = await positionsOf('true');
  const answer = await call(app.url, ready, authorization);
  expect(await positionsOf('true')).toEqual(before);
  return answer;
}

describe('the table and the routes', () => {
  it('name the same calls, and every call has its scene', () => {
    const rows = ROWS.map(({ name }) => name).sort();
    expect(routes.map(({ name }) => name).sort()).toEqual(rows);
    expect(Object.keys(SCENES).sort()).toEqual(rows);
  });

  it('let the same roles in at the door, where no lease decides', () => {
    const admits = (name: string, role: Role): boolean => {
      const roles = routes.find((route) => route.name === name)?.roles;
      if (roles === undefined || roles === 'public') return false;
      return roles === 'any' || roleFor(someActor(role), roles) !== null;
    };
    const isOpen = ({ name, byLease }: Row) => byLease || name === 'POST /v1/tasks/:id/block';
    const doors = ROWS.map((row) => [row.name, ROLES.filter((role) => admits(row.name, role))]);
    expect(doors).toEqual(ROWS.map((row) => [row.name, isOpen(row) ? [...ROLES] : row.allowed]));
    const open = routes.filter(({ roles }) => roles === 'public').map(({ name }) => name);
    expect(open.sort()).toEqual(
      ROWS.filter(({ isPublic }) => isPublic)
        .map(({ name }) => name)
        .sort(),
    );
  });
});

describe('asked by nobody in particular', () => {
  it.each(ROWS.filter(({ isPublic }) => isPublic))('$name answers, whatever the key', async (row) => {
    const ready = await readyFor(row, 'planner');
    for (const [whose, authorization] of unknown)
      expect([whose, (await call(app.url, ready, authorization)).status]).toEqual([whose, 200]);
  });
});

describe.each(ROWS.filter(({ isPublic }) => !isPublic))('$name', (row) => {
  const [first = 'operator', ...others] = row.allowed;

  it('changes nothing for whom it refuses, and is done for whom it is for', async () => {
    const ready = await readyFor(row, first);
    const before = await everyRow();
    for (const [whose, authorization] of unknown) {
      const answer = await refused(ready, authorization);
      expect([whose, answer.status, codeIn(answer)]).toEqual([whose, 401, 'unauthenticated']);
    }
    for (const role of ROLES) {
      if (row.allowed.includes(role)) continue;
      const answer = await refused(ready, bearer(app.keys[role]));
      const expected = row.byLease ? [409, 'lease_lost'] : [403, 'forbidden_role'];
      expect([role, answer.status, codeIn(answer)]).toEqual([role, ...expected]);
      if (!row.byLease) expectNamesRole(row, answer);
    }
    expect(await everyRow()).toEqual(before);
    await expectDone(ready, first);
    for (const role of others) await expectDone(await readyFor(row, role), role);
  });

  it('knows nothing of this project when it is asked from another', async () => {
    for (const [whose, key] of foreign) {
      const ready = await readyFor(row, first);
      const before = await positionsOf('is_default');
      const answer = await call(app.url, ready, bearer(key));
      expect(await positionsOf('is_default')).toEqual(before);
      if (row.path.includes(':id')) {
        expect([whose, answer.status, codeIn(answer)]).toEqual([whose, 404, 'not_found']);
        const nothing = { ...ready, path: withUnknownIds(ready.path) };
        expect(told(answer)).toEqual(told(await call(app.url, nothing, bearer(key))));
      } else if (row.runsTheServer) {
        expect([whose, answer.status, codeIn(answer)]).toEqual([whose, 403, 'forbidden_role']);
      } else {
        const isClaim = row.path === '/v1/tasks/claim';
        expect([whose, ...outcomeOf(ready, answer)]).toEqual([whose, isClaim ? 'nothing' : 'done', null]);
        const ours = await idsHere();
        expect(idsIn(answer.text).filter((id) => ours.has(id))).toEqual([]);
      }
      // What was refused there is done here: the call was right, only not theirs.
      await expectDone(ready, first);
    }
  });
});

/** A refusal for the role names one that would do. */
function expectNamesRole(row: Row, { text }: Answered): void {
  const { required_roles: named }: { required_roles: Role[] } = JSON.parse(text);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((role) => !row.allowed.includes(role))).toEqual([]);
}

/** A claim that finds nothing is answered like a deletion, and is no success. */
function outcomeOf({ method }: Ready, answer: Answered): ['done' | 'nothing' | 'refused', string | null] {
  if (answer.status === 204 && method !== 'DELETE') return ['nothing', null];
  return [answer.status < 300 ? 'done' : 'refused', codeIn(answer)];
}

async function expectDone(ready: Ready, role: Role): Promise<void> {
  const answer = await call(app.url, ready, bearer(app.keys[role]));
  expect([role, ...outcomeOf(ready, answer)]).toEqual([role, 'done', null]);
}

/** The ids of everything in the default project, as they stand on the wire. */
async function idsHere(): Promise<Set<string>> {
  const of = (prefix: string, table: string) =>
    `SELECT '${prefix}_' || x.id AS id FROM ${table} x JOIN projects p ON p.id = x.project_id AND p.is_default`;
  const kinds = [of('task', 'tasks'), of('run', 'runs'), of('trip', 'trips'), of('agt', 'agents')];
  const { rows } = await app.pool.query<{ id: string }>(kinds.join(' UNION ALL '));
  return new Set(rows.map(({ id }) => id));
}
