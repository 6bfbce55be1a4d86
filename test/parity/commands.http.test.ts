import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { makeFolder } from '../support/server.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
let app: TestApp;
let folder: Awaited<ReturnType<typeof makeFolder>>;

beforeAll(async () => {
  app = await startTestApp();
  folder = await makeFolder();
  await mkdir(join(folder.path, '.fuseboard'));
  const keys = Object.entries(app.keys).map(([role, key]) => `FUSEBOARD_${role.toUpperCase()}_KEY=${key}`);
  await writeFile(
    join(folder.path, '.fuseboard/keys.env'),
    `${[...keys, `FUSEBOARD_URL=${app.url}`].join('\n')}\n`,
  );
});
afterAll(async () => {
  await app.close();
  await folder.remove();
});

/** The shell blocks of a page, but for those that start something. */
async function shellOf(page: string): Promise<string> {
  const text = await readFile(join(root, page), 'utf8');
  const blocks = [...text.matchAll(/```bash\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  return blocks.filter((block) => !/^(npm|git|docker|DATABASE_URL|POSTGRES|cp|pg_)/m.test(block)).join('\n');
}

async function typed(script: string): Promise<string[]> {
  const { stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder.path });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

describe('the commands of the documentation, typed as they stand there', () => {
  it('README: five rounds, a refusal, and an unblock', async () => {
    const lines = await typed(await shellOf('README.md'));
    const rounds = Array.from({ length: 4 }, () => ['in_review', 'rework']).flat();
    expect(lines.slice(0, 10)).toEqual([...rounds, 'in_review', 'blocked']);
    expect(await readFile(join(root, 'README.md'), 'utf8')).toContain(`\n${lines[10]}\n`);
    expect(lines[11]).toBe('pending');
  });

  it('tutorial: from a task that cannot be done to one that is', async () => {
    const lines = await typed(await shellOf('docs/tutorial.md'));
    expect(lines.slice(1, 7)).toEqual(['in_review', 'rework', '2', '3', '4', 'AUTOMATIC_RECOVERY']);
    expect(lines[7]).toMatch(/^The task is blocked/);
    expect(lines).toContain('# Crawl the feed');
    expect(lines.slice(-2)).toEqual(['pending', 'done']);
  });

  it('a blocked task: found, looked at, lifted, given up, replaced', async () => {
    const planner = app.as('planner');
    const made = await planner.post('/v1/tasks').send({ title: 'Stuck' }).expect(201);
    const block = { kind: 'needs_input', reason: 'Which account?' };
    await planner.post(`/v1/tasks/${made.body.id}/block`).send(block).expect(200);
    const script = await shellOf('docs/how-to/a-task-is-blocked-what-now.md');
    const lines = await typed(`task=${made.body.id}\n${script}`);
    expect(lines[0]).toBe(`${made.body.id}  Stuck: Which account?`);
    expect(lines).toContain('# Stuck');
    const old = await planner.get(`/v1/tasks/${made.body.id}`).expect(200);
    expect(old.body).toMatchObject({ state: 'cancelled', acceptance: ['20 posts are stored'] });
    expect(old.body.superseded_by).toMatch(/^task_/);
  });

  it('cron: an agent added, and an executor that takes a task and hands it in', async () => {
    const page = await readFile(join(root, 'docs/how-to/run-agents-from-cron.md'), 'utf8');
    const [, source = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
    await writeFile(join(folder.path, 'executor.mjs'), source);
    await app.as('planner').post('/v1/tasks').send({ title: 'Read the feed', priority: 0 }).expect(201);
    const lines = await typed(await shellOf('docs/how-to/run-agents-from-cron.md'));
    expect(lines.join('\n')).toMatch(/"name":"night-executor","roles":\["executor"\].*"api_key":"fb_/);
    // What curl prints has no end of line.
    expect(lines.at(-1)).toMatch(/Read the feed: in_review$/);
  });
});
