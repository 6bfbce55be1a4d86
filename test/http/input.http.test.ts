import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findHostile } from '../../src/http/input-guard.js';
import { nestsTooDeep } from '../../src/http/json-body.js';
import { type HttpApp, httpApp, plantTasks, withKey } from '../support/http-app.js';

let http: HttpApp;
beforeAll(async () => {
  http = await httpApp(plantTasks);
});
afterAll(() => http.app.close());

/** In the form that keys have, and nobody's. */
const KEY = `fb_0123456789ABCDEF_${'a'.repeat(38)}`;
const JSON_TYPE = { 'content-type': 'application/json' };

function post(payload: string | Buffer, headers: Record<string, string> = JSON_TYPE) {
  return http.app.inject({
    method: 'POST',
    url: '/v1/tasks',
    headers: { ...withKey('planner'), ...headers },
    payload,
  });
}

async function faultsOf(payload: object | string): Promise<unknown> {
  const answer = await post(typeof payload === 'string' ? payload : JSON.stringify(payload));
  expect(answer.statusCode).toBe(400);
  expect(answer.json().code).toBe('invalid_request');
  return answer.json().errors;
}

describe('a body that does not fit its schema', () => {
  it('has one entry for each fault, with a pointer', async () => {
    expect(await faultsOf({ title: '', priority: 'high', labels: ['a', 1], 'a/b~c': 1 })).toEqual([
      { pointer: '/title', detail: 'Must not be empty.', code: 'too_small' },
      { pointer: '/priority', detail: 'Must be a number, not a string.', code: 'invalid_type' },
      { pointer: '/labels/1', detail: 'Must be a string, not a number.', code: 'invalid_type' },
      { pointer: '/a~1b~0c', detail: 'There is no field a/b~c here.', code: 'unknown_field' },
    ]);
  });

  it('names a missing field, also when there is no body at all', async () => {
    const missing = [{ pointer: '/title', detail: 'This field is required.', code: 'required' }];
    expect(await faultsOf('{}')).toEqual(missing);
    expect(await faultsOf('')).toEqual(missing);
    const bare = await http.app.inject({ method: 'POST', url: '/v1/tasks', headers: withKey('planner') });
    expect(bare.json().errors).toEqual(missing);
  });

  it('may be another kind of value altogether', async () => {
    expect(await faultsOf('[]')).toEqual([
      { pointer: '', detail: 'Must be an object, not a list.', code: 'invalid_type' },
    ]);
    expect(await faultsOf('null')).toMatchObject([{ pointer: '', code: 'invalid_type' }]);
  });

  it('never repeats a value, which may be a secret', async () => {
    const answer = await post(JSON.stringify({ title: 'fb_secret'.repeat(5), priority: 'fb_secret' }));
    expect(answer.body).not.toContain('fb_secret');
  });

  it('is passed on with defaults when it fits', async () => {
    const answer = await post('{"title":"x"}');
    expect(answer.json().body).toEqual({ title: 'x', priority: 5 });
  });
});

describe('queries and parameters', () => {
  it('are pointed at below /query and /params', async () => {
    const url = `/v1/tasks/${'i'.repeat(400)}`;
    const long = await http.app.inject({ method: 'GET', url, headers: withKey('executor') });
    expect(long.json().errors).toMatchObject([{ pointer: '/params/id', code: 'too_big' }]);
    const query = await http.app.inject({
      url: '/v1/tasks/x?limit=many&foo=1',
      headers: withKey('executor'),
    });
    expect(query.json().errors).toEqual([
      { pointer: '/query/limit', detail: 'Must be a number.', code: 'invalid_type' },
      { pointer: '/query/foo', detail: 'There is no field foo here.', code: 'unknown_field' },
    ]);
  });

  it('are looked through for characters that text cannot have', async () => {
    const nul = await http.app.inject({ url: '/v1/tasks/x?q=a%00b', headers: withKey('executor') });
    expect(nul.json().errors).toMatchObject([{ pointer: '/query/q', code: 'bad_character' }]);
    const parameter = await http.app.inject({ url: '/v1/tasks/a%00b', headers: withKey('executor') });
    expect(parameter.json().errors).toMatchObject([{ pointer: '/params/id', code: 'bad_character' }]);
  });
});

describe('a body that is not JSON', () => {
  it.each([
    ['{"title":', 'invalid_json', 400],
    ['{"title":"x",}', 'invalid_json', 400],
    [Buffer.from([0x22, 0xff, 0x22]), 'invalid_json', 400],
    [Buffer.from('{"title":"\xed\xa0\x80"}', 'latin1'), 'invalid_json', 400],
  ] as const)('%s is refused as %s', async (payload, code, status) => {
    const answer = await post(payload);
    expect(answer.statusCode).toBe(status);
    expect(answer.json().code).toBe(code);
  });

  it.each([
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'application/xml' }],
    [{ 'content-type': 'nonsense' }],
    [{ 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('%o is refused as a media type', async (headers) => {
    const answer = await post('{"title":"x"}', headers);
    expect(answer.statusCode).toBe(415);
    expect(answer.json().code).toBe('unsupported_media_type');
  });

  it('may have a byte order mark and a charset', async () => {
    const answer = await post('\ufeff{"title":"x"}', { 'content-type': 'application/json; charset=utf-8' });
    expect(answer.statusCode).toBe(201);
  });

  it('may not be larger than one mebibyte', async () => {
    const answer = await post(JSON.stringify({ title: 'x', result: { text: 'x'.repeat(1024 * 1024) } }));
    expect(answer.statusCode).toBe(413);
    expect(answer.json().code).toBe('too_large');
    const largest = await post(
      JSON.stringify({ title: 'x', result: { text: 'x'.repeat(1024 * 1024 - 40) } }),
    );
    expect(largest.statusCode).toBe(201);
  });
});

describe('the input guard', () => {
  it.each([
    ['{"title":"a\\u0000b"}', '/title', 'bad_character'],
    ['{"title":"\\ud800"}', '/title', 'bad_character'],
    ['{"title":"\\udc00\\ud800"}', '/title', 'bad_character'],
    ['{"title":"x","labels":["ok","\\udfff"]}', '/labels/1', 'bad_character'],
    ['{"title":"x","result":{"a\\u0000":1}}', '/result', 'bad_character'],
    ['{"title":"x","priority":1e999}', '/priority', 'not_finite'],
    ['{"title":"x","__proto__":{"admin":true}}', '/__proto__', 'forbidden_name'],
    ['{"title":"x","result":{"__proto__":null}}', '/result/__proto__', 'forbidden_name'],
    ['{"title":"x","result":{"\\u005f_proto__":1}}', '/result/__proto__', 'forbidden_name'],
    ['{"title":"x","result":{"constructor":{"prototype":{}}}}', '/result/constructor', 'forbidden_name'],
  ])('refuses %s', async (payload, pointer, code) => {
    expect(await faultsOf(payload)).toMatchObject([{ pointer, code }]);
  });

  it.each([
    [{ title: `use ${KEY}` }, '/title'],
    [{ title: 'x', labels: ['ok', KEY] }, '/labels/1'],
    [{ title: 'x', result: { headers: `Bearer ${KEY}` } }, '/result/headers'],
    [{ title: 'x', result: { [KEY]: 1 } }, '/result'],
    [{ title: 'x', api_key: KEY }, '/api_key'],
  ])('refuses a key of an agent, and does not repeat it: %o', async (payload, pointer) => {
    const answer = await post(JSON.stringify(payload));
    expect(answer.json().errors).toMatchObject([{ pointer, code: 'holds_key' }]);
    expect(answer.body).not.toContain(KEY);
  });

  it('refuses a key in the address', async () => {
    for (const url of [`/v1/tasks/${KEY}`, `/v1/tasks/x?q=${KEY}`]) {
      const answer = await http.app.inject({ url, headers: withKey('executor') });
      expect(answer.json().errors).toMatchObject([{ code: 'holds_key' }]);
    }
  });

  it('lets the public part of a key pass', async () => {
    expect((await post(JSON.stringify({ title: 'fb_0123456789ABCDEF' }))).statusCode).toBe(201);
  });

  it('lets whole surrogate pairs and a plain field called constructor pass', async () => {
    const body = { title: '\u{1f680} done', result: { constructor: 'x', '\u{1f680}': [1.5, null, true] } };
    expect((await post(JSON.stringify(body))).json().body).toEqual({ ...body, priority: 5 });
  });

  it.each([
    ['[', ']'],
    ['{"a":', '}'],
  ])('allows 64 levels of %s and no more', async (open, close) => {
    const nested = (levels: number): string =>
      `{"title":"x","result":{"deep":${open.repeat(levels - 2)}1${close.repeat(levels - 2)}}}`;
    expect((await post(nested(64))).statusCode).toBe(201);
    expect(await faultsOf(nested(65))).toMatchObject([{ code: 'too_deep' }]);
  });

  it.each([
    ['['.repeat(1024 * 1024 - 100)],
    [`${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    [`{"title":${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}}`],
  ])('refuses a mebibyte of nesting before it is built', async (payload) => {
    expect(await faultsOf(payload)).toMatchObject([{ pointer: '', code: 'too_deep' }]);
  });

  it('counts no brackets inside text', () => {
    expect(nestsTooDeep(JSON.stringify({ text: `${'['.repeat(500)}\\"${'{'.repeat(500)}` }))).toBe(false);
    expect(nestsTooDeep(`"${'['.repeat(500)}`)).toBe(false);
    expect(nestsTooDeep(JSON.stringify(Array.from({ length: 500 }, () => [])))).toBe(false);
  });

  it('walks a value of any depth without using the stack', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 200_000; level += 1) deep = [deep];
    expect(findHostile(deep, '')).toMatchObject({ code: 'too_deep' });
  });
});
