import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { startTestApp, type TestApp } from '../support/app.js';

const document = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        parameters: z
          .array(
            z.object({ name: z.string(), schema: z.object({ pattern: z.string().optional() }) }).partial(),
          )
          .default([]),
        requestBody: z
          .object({
            content: z.object({
              'application/json': z.object({
                example: z.unknown().optional(),
                schema: z.object({ $ref: z.string().optional() }),
              }),
            }),
          })
          .optional(),
      }),
    ),
  ),
  components: z.object({
    schemas: z.record(z.string(), z.object({ examples: z.array(z.unknown()).optional() })),
  }),
});

let app: TestApp;
let examples: { operation: string; method: string; path: string; example: unknown }[];

beforeAll(async () => {
  app = await startTestApp();
  const { paths, components } = document.parse((await app.app.inject('/openapi.json')).json());
  examples = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { operationId, parameters, requestBody }]) => {
      if (requestBody === undefined) return [];
      const { example, schema } = requestBody.content['application/json'];
      const named = components.schemas[schema.$ref?.split('/').at(-1) ?? '']?.examples?.[0];
      const somewhere = path.replace(/\{(\w+)\}/g, (_whole, name: string) =>
        someId(parameters.find((parameter) => parameter.name === name)?.schema?.pattern),
      );
      return [{ operation: operationId, method, path: somewhere, example: example ?? named }];
    }),
  );
});
afterAll(() => app.close());

it('every call that takes a body has an example of it', () => {
  expect(examples.length).toBeGreaterThan(15);
  expect(examples.filter(({ example }) => example === undefined).map(({ operation }) => operation)).toEqual(
    [],
  );
});

it('every example is a body that the call takes', async () => {
  for (const { operation, method, path, example } of examples) {
    const answer = await app.app.inject({
      method: method === 'patch' ? 'PATCH' : 'POST',
      url: path,
      headers: {
        authorization: `Bearer ${app.keys.operator}`,
        'content-type': 'application/json',
        'if-match': '"v1"',
      },
      payload: JSON.stringify(example),
    });
    const { code = 'none', detail = '', errors = [] } = answer.body === '' ? {} : answer.json();
    expect(code, `${operation}: ${detail} ${JSON.stringify(errors)}`).not.toBe('invalid_request');
    expect(answer.statusCode, operation).toBeLessThan(500);
  }
});

it('the examples of one task, in their order, lead from its creation to its end', async () => {
  const exampleOf = (operation: string) => examples.find((known) => known.operation === operation)?.example;
  const send = async (role: 'planner' | 'executor' | 'reviewer', path: string, operation: string) => {
    const answer = await app
      .as(role)
      .post(path)
      .send(z.object({}).loose().parse(exampleOf(operation)));
    expect(answer.status, `${operation}: ${answer.body.detail}`).toBeLessThan(300);
    return answer.body;
  };
  const { id } = await send('planner', '/v1/tasks', 'create_task');
  await send('executor', `/v1/tasks/${id}/claim`, 'claim_task');
  await send('executor', `/v1/tasks/${id}/heartbeat`, 'heartbeat_task');
  await send('executor', `/v1/tasks/${id}/usage`, 'report_usage');
  await send('executor', `/v1/tasks/${id}/submit`, 'submit_task');
  expect(await send('reviewer', `/v1/tasks/${id}/approve`, 'approve_task')).toMatchObject({ state: 'done' });
});

/** An id of the kind that a parameter asks for by its pattern, of nothing that is there. */
function someId(pattern: string | undefined): string {
  const [, prefix = 'nothing'] = /^\^(\w+)_/.exec(pattern ?? '') ?? [];
  return `${prefix}_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b`;
}
