import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { preferredType } from '../../src/http/negotiate.js';
import { parseIfMatch } from '../../src/http/preconditions.js';
import { listOf, sendVersioned } from '../../src/http/respond.js';
import { toPage } from '../../src/kernel/page.js';
import { type HttpApp, httpApp } from '../support/http-app.js';

function plant(app: FastifyInstance): void {
  const config = { roles: 'public' } as const;
  app.get('/thing', { config }, (request, reply) => sendVersioned(request, reply, '{"id":"x"}', 3));
  app.post('/thing', { config }, (request, reply) => sendVersioned(request, reply, '{"id":"x"}', 3, 201));
  app.get<{ Querystring: { limit: string } }>('/things', { config }, (request, reply) => {
    const page = toPage(['a', 'b', 'c'], Number(request.query.limit), (item) => item);
    return listOf(request, reply, page, (name) => ({ name }));
  });
}

let http: HttpApp;
beforeAll(async () => {
  http = await httpApp(plant);
});
afterAll(() => http.app.close());

describe('If-Match', () => {
  it.each([
    [undefined, null],
    ['"v3"', 3],
    [' "v0" ', 0],
    ['*', '*'],
    ['v3', 'invalid'],
    ['"3"', 'invalid'],
    ['W/"v3"', 'invalid'],
    ['"v03"', 'invalid'],
    ['"v3", "v4"', 'invalid'],
    ['', 'invalid'],
  ])('%j is read as %j', (header, version) => {
    expect(parseIfMatch(header)).toBe(version);
  });
});

describe('If-None-Match', () => {
  it.each([
    ['"v3"', 304],
    ['W/"v3"', 304],
    ['"v1", W/"v2" , "v3"', 304],
    ['*', 304],
    ['"v4"', 200],
    ['v3', 200],
  ])('%s on version 3 answers %i', async (header, status) => {
    const answer = await http.app.inject({ url: '/thing', headers: { 'if-none-match': header } });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers.etag).toBe('"v3"');
    expect(answer.body).toBe(status === 304 ? '' : '{"id":"x"}');
  });

  it('does not turn the answer of a command into 304', async () => {
    const answer = await http.app.inject({
      method: 'POST',
      url: '/thing',
      headers: { 'if-none-match': '*' },
    });
    expect(answer.statusCode).toBe(201);
  });
});

describe('a list', () => {
  it('leads to its next page with everything else that was asked', async () => {
    const answer = await http.app.inject('/things?limit=2&state=done&label=a%20b');
    const { data, next_cursor: cursor, has_more: more } = answer.json();
    expect(data).toEqual([{ name: 'a' }, { name: 'b' }]);
    expect(more).toBe(true);
    expect(answer.headers.link).toBe(`</things?limit=2&state=done&label=a+b&cursor=${cursor}>; rel="next"`);
  });

  it('ends without a Link', async () => {
    const answer = await http.app.inject('/things?limit=3');
    expect(answer.json()).toMatchObject({ next_cursor: null, has_more: false });
    expect(answer.headers.link).toBeUndefined();
  });
});

describe('Accept', () => {
  const offers = ['text/html', 'application/json'] as const;
  it.each([
    [undefined, 'text/html'],
    ['*/*', 'text/html'],
    ['application/json', 'application/json'],
    ['text/html;q=0.5, application/json', 'application/json'],
    ['application/*', 'application/json'],
    ['text/*;q=0.1, application/json;q=0', 'text/html'],
    ['image/png', null],
    ['text/html;q=0, application/json;q=nonsense', null],
  ])('%j of HTML and JSON takes %s', (header, type) => {
    expect(preferredType(header, offers)).toBe(type);
  });
});
