import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonOrMarkdown } from '../../src/http/fields.js';
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

it.each([
  ['text/markdown', 'declared', 200],
  ['text/plain', 'not declared', 500],
])('in tests an answer as %s, which is %s, is noticed', async (type, _case, status) => {
  http = await httpApp((app) => {
    checkAnswers(app);
    const schema = { response: { 200: jsonOrMarkdown(z.object({})) } };
    app.get('/x', { config: { roles: 'public' }, schema }, (_request, reply) => reply.type(type).send('x'));
  });
  expect((await http.app.inject('/x')).statusCode).toBe(status);
});
