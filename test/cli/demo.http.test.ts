import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDemo } from '../../src/cli/demo/main.js';
import { replay } from '../../src/cli/demo/replay.js';
import { plainScreen } from '../../src/cli/demo/screen.js';
import { startTestApp, type TestApp } from '../support/app.js';

let app: TestApp;
const quiet = plainScreen({ write: () => {} });

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const board = () => ({ url: app.url, operatorKey: app.keys.operator, plannerKey: app.keys.planner });

describe('the night, replayed', () => {
  it('ends with every task blocked by its fifth rework, and agents that ask in vain', async () => {
    const ended = await replay(board(), { tasks: 7, paceMs: 0 }, quiet);
    expect(ended.tasks.map(({ state, rework_total }) => [state, rework_total])).toEqual(
      Array.from({ length: 7 }, () => ['blocked', 5]),
    );
    expect(ended.tasks.every((task) => task.block_reason?.kind === 'rework')).toBe(true);
    expect(ended.afterwards).toBeGreaterThanOrEqual(24);
    expect(ended.refused).toMatchObject({ status: 409, code: 'task_blocked' });
  });

  it('works again on the same board, with the same agents and without a key left behind', async () => {
    const ended = await replay(board(), { tasks: 2, paceMs: 0 }, quiet);
    expect(ended.tasks.map(({ state }) => state)).toEqual(['blocked', 'blocked']);
    const agents = await app.as('operator').get('/v1/agents').expect(200);
    const night: { name: string; keys: { revoked_at: string | null }[] }[] = agents.body.data.filter(
      ({ name }: { name: string }) => name.startsWith('night-'),
    );
    expect(night).toHaveLength(4);
    for (const { keys } of night) expect(keys.every((key) => key.revoked_at !== null)).toBe(true);
  });

  it('ends early when it is told to', async () => {
    const ended = await replay(board(), { tasks: 1, paceMs: 0, signal: AbortSignal.abort() }, quiet);
    expect(ended.tasks.map(({ state }) => state)).toEqual(['pending']);
  });

  it('plays on the service that the environment names, and hands over what comes next', async () => {
    let written = '';
    const code = await runDemo({
      args: ['--tasks', '2'],
      env: {
        FUSEBOARD_DATA_DIR: '/nowhere',
        FUSEBOARD_URL: app.url,
        FUSEBOARD_OPERATOR_KEY: app.keys.operator,
        FUSEBOARD_PLANNER_KEY: app.keys.planner,
      },
      output: {
        write: (text) => {
          written += text;
        },
      },
      startScript: '/nowhere/start.mjs',
      signal: new AbortController().signal,
    });
    expect(code).toBe(0);
    expect(written).toContain(`Playing on the service at ${app.url}.`);
    expect(written).toMatch(/together +30 +10$/m);
    const [, path = '', body = ''] =
      /FUSEBOARD_URL(\/v1\/tasks\/\S+\/unblock)".*-d '(.*)'/s.exec(written) ?? [];
    const unblocked = await app.as('planner').post(path).send(JSON.parse(body)).expect(200);
    expect(unblocked.body).toMatchObject({ state: 'pending', rework_count: 0, rework_total: 5 });
  });

  it('says what went wrong instead of a stack', async () => {
    let written = '';
    const output = {
      write: (text: string) => {
        written += text;
      },
    };
    const setting = { env: {}, output, startScript: '/nowhere/start.mjs', signal: AbortSignal.abort() };
    expect(await runDemo({ ...setting, args: ['--tasks', 'many'] })).toBe(1);
    expect(await runDemo({ ...setting, args: ['--nothing'] })).toBe(1);
    expect(written).toContain('--tasks takes a whole number');
    expect(written).toContain("Unknown option '--nothing'");
  });
});
