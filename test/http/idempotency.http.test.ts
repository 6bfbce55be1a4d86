import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, parseIdempotencyKey } from '../../src/http/idempotency.js';
import { type HttpApp, httpApp, plantTasks, withKey } from '../support/http-app.js';

let http: HttpApp;
beforeAll(async () => {
  http = await httpApp(plantTasks);
});
afterAll(() => http.app.close());

async function create(key: string | null, payload: string, url = '/v1/tasks') {
  const headers = {
    ...withKey('planner'),
    'content-type': 'application/json',
    ...(key === null ? {} : { 'idempotency-key': key }),
  };
  return http.app.inject({ method: 'POST', url, headers, payload });
}

const keyOf = async (key: string | null, payload: string, url?: string) =>
  (await create(key, payload, url)).json().idempotency;

describe('an Idempotency-Key', () => {
  it.each([
    ['bare', 'bare'],
    ['"quoted"', 'quoted'],
    ['"a \\"b\\" \\\\c"', 'a "b" \\c'],
    ['  spaced out  ', 'spaced out'],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['x'.repeat(255), 'x'.repeat(255)],
  ])('%s is read as %s', (header, key) => {
    expect(parseIdempotencyKey(header)).toBe(key);
  });

  it.each(['', '""', '"open', '"a"b"', '"\\x"', 'x'.repeat(256), 'tab\there', 'ünïcode', '"trailing" x'])(
    '%j is none',
    async (header) => {
      expect(parseIdempotencyKey(header)).toBeNull();
    },
  );

  it('that is none is refused with a pointer', async () => {
    const answer = await create('"open', '{"title":"x"}');
    expect(answer.statusCode).toBe(400);
    expect(answer.json().errors).toMatchObject([{ pointer: '/headers/idempotency-key' }]);
  });

  it('that is the key of an agent is refused, because it would be stored', async () => {
    const key = `fb_0123456789ABCDEF_${'a'.repeat(38)}`;
    const answer = await create(key, '{"title":"x"}');
    expect(answer.json().errors).toMatchObject([{ pointer: '/headers/idempotency-key', code: 'holds_key' }]);
    expect(answer.body).not.toContain(key);
  });

  it('survives quoting whatever it consists of', () => {
    const printable = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((n) => String.fromCharCode(n)),
      minLength: 1,
      maxLength: 100,
    });
    fc.assert(
      fc.property(printable, (key) => {
        expect(parseIdempotencyKey(`"${key.replace(/["\\]/g, '\\$&')}"`)).toBe(key);
      }),
    );
  });

  it('is bound to method, route, path and body as it was sent', async () => {
    const one = await keyOf('k', '{"title":"x","labels":["a","b"]}');
    expect(one).toMatchObject({ key: 'k', route: 'POST /v1/tasks' });
    expect(one.requestHash).toMatch(/^[0-9a-f]{64}$/);
    expect(await keyOf('"k"', ' { "labels": ["a","b"], "title": "x" } ')).toEqual(one);
    expect(await keyOf('k', '{"title":"x","labels":["a","b"]}', '/v1/tasks?trace=1')).toEqual(one);
    expect((await keyOf('k', '{"title":"x","labels":["b","a"]}')).requestHash).not.toBe(one.requestHash);
    expect((await keyOf('k', '{"title":"x","labels":["a","b"],"priority":5}')).requestHash).not.toBe(
      one.requestHash,
    );
  });

  it('may be left out', async () => {
    expect(await keyOf(null, '{"title":"x"}')).toBeNull();
  });
});

describe('canonical JSON', () => {
  it('is the same for the same value in any order, and reads back as that value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        const read: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(text)).toEqual(read);
        expect(canonicalJson(reversed(read))).toBe(text);
      }),
    );
  });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reversed(field)]),
  );
}
