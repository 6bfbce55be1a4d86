import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterEach, beforeEach, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The first loop as a client written against the generated types would say it. */
const CLIENT = `
import type { paths } from './api.js';

type Body<P extends keyof paths> = paths[P] extends { post: { requestBody?: { content: { 'application/json': infer B } } } } ? B : never;
type Answer<P extends keyof paths, S extends number> = paths[P] extends { post: { responses: { [K in S]: { content: { 'application/json': infer A } } } } } ? A : never;

export const task: Body<'/v1/tasks'> = { title: 'Fetch the posts', acceptance: ['50 posts'], limits: { max_tokens: 200_000 } };
export const verdict: Body<'/v1/tasks/{id}/rework'> = { reason: 'Only 20', findings: [{ criterion: 0, detail: '20 of 50' }] };

export function tokenOf(answer: Answer<'/v1/tasks/claim', 200>): number | undefined {
  return answer.claims[0]?.lease_token;
}
export function isBlocked(answer: Answer<'/v1/tasks/{id}/rework', 200>): boolean {
  return answer.state === 'blocked' && answer.trip?.severity === 'MEDIUM';
}

// @ts-expect-error a task needs a title
export const untitled: Body<'/v1/tasks'> = {};
// @ts-expect-error there is no such state
export const state: Answer<'/v1/tasks', 201>['state'] = 'finished';
`;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(ROOT, 'test', '.client-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a client compiles against the types that openapi-typescript makes of openapi.yaml', async () => {
  const types = await openapiTS(new URL('../../openapi.yaml', import.meta.url));
  await writeFile(join(folder, 'api.d.ts'), astToString(types));
  await writeFile(join(folder, 'client.ts'), CLIENT);
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--types',
    'node',
  ];
  const compiled = promisify(execFile)(process.execPath, [tsc, ...options, join(folder, 'client.ts')]);
  await expect(compiled).resolves.toMatchObject({ stdout: '' });
}, 60_000);
