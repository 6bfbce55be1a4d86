import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { checkAnswers } from '../support/answer-check.js';
import { type HttpApp, httpApp } from '../support/http-app.js';

let http: HttpApp | null = null;
afterEach(() => http?.app.close());

it.each([
  ['fits its schema', '{"id":"x"}', 200],
  ['lacks a field', '{}', 500],
  ['has a field too many', '{"id":"x","secret":1}', 500],
])('in tests an answer that %s is noticed', async (_case, json, status) => {
  http = await httpApp((app) => {
    checkAnswers(app);
    const schema = { response: { 200: z.object({ id: z.string() }) } };
    app.get('/x', { config: { roles: 'public' }, schema }, (_request, reply) =>
      reply.type('application/json').send(json),
    );
  });
  expect((await http.app.inject('/x')).statusCode).toBe(status);
});
