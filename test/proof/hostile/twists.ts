import fc from 'fast-check';
import type { RawRequest } from './wire.js';

/** One thing that no well-meant client would do to a request. */
export interface Twist {
  readonly what: string;
  readonly apply: (request: RawRequest) => RawRequest;
}

const twist = (what: string, apply: Twist['apply']): Twist => ({ what, apply });

function withBody(what: string, body: (before: string) => Buffer | string): Twist {
  return twist(what, (request) => {
    const made = body(request.body?.toString('utf8') ?? '{}');
    const bytes = typeof made === 'string' ? Buffer.from(made) : made;
    return withHeader({ ...request, body: bytes }, 'Content-Type', 'application/json');
  });
}

function withHeader(request: RawRequest, name: string, ...values: string[]): RawRequest {
  const others = request.headers.filter(([known]) => known.toLowerCase() !== name.toLowerCase());
  return { ...request, headers: [...others, ...values.map((value) => [name, value] as const)] };
}

/** Puts a field, as text, at the front of a JSON object. */
function injected(object: string, field: string): string {
  return object.startsWith('{') ? `{${field}${object === '{}' ? '' : ','}${object.slice(1)}` : `{${field}}`;
}

/** Puts a text in place of every text of a JSON value. */
function everyText(json: string, text: string): string {
  return json.replace(/:"(?:[^"\\]|\\.)*"(?=[,}])/g, () => `:"${text}"`);
}

const nested = (open: string, close: string, levels: number): string =>
  `${open.repeat(levels)}1${close.repeat(levels)}`;

const BODIES: readonly Twist[] = [
  withBody('polluted by __proto__', (body) => injected(body, '"__proto__":{"roles":["operator"]}')),
  withBody('polluted by constructor', (body) =>
    injected(body, '"constructor":{"prototype":{"isAdmin":true}}'),
  ),
  withBody('__proto__ spelled with escapes', (body) => injected(body, '"\\u005f_proto__":1')),
  withBody('a field twice', (body) =>
    injected(body, '"title":"one","title":"two","reason":1,"reason":"two"'),
  ),
  withBody('NUL in every text', (body) => everyText(body, 'a\\u0000b')),
  withBody('half a surrogate pair in every text', (body) => everyText(body, '\\ud83d')),
  withBody('surrogates the wrong way round', (body) => everyText(body, '\\ude80\\ud83d')),
  withBody('NUL in a name', (body) => injected(body, '"a\\u0000":1')),
  withBody('bytes that are no UTF-8', (body) => Buffer.from(everyText(body, '\xc3\x28\xff'), 'latin1')),
  withBody('surrogates in UTF-8', (body) => Buffer.from(everyText(body, '\xed\xa0\x80'), 'latin1')),
  withBody('overlong UTF-8', (body) => Buffer.from(everyText(body, '\xc0\xaf'), 'latin1')),
  withBody('a byte order mark', (body) => `\ufeff${body}`),
  withBody('UTF-16', (body) => Buffer.from(body, 'utf16le')),
  withBody('numbers beyond every type', (body) => body.replace(/:-?\d+(\.\d+)?/g, ':1e999')),
  withBody('numbers of 400 digits', (body) => body.replace(/:-?\d+(\.\d+)?/g, `:${'9'.repeat(400)}`)),
  withBody('numbers just beyond exact', (body) => body.replace(/:-?\d+(\.\d+)?/g, ':9007199254740993')),
  withBody('zero below zero', (body) => body.replace(/:-?\d+(\.\d+)?/g, ':-0.0')),
  withBody('cut off', (body) => body.slice(0, Math.max(1, Math.floor(body.length / 2)))),
  withBody('something behind its end', (body) => `${body}{}`),
  withBody('comments', (body) => `/* */ ${body} // end`),
  withBody('a list of it', (body) => `[${body}]`),
  withBody('text that holds it', (body) => JSON.stringify(body)),
  withBody('blanks alone', () => ' \n '),
  withBody('a NUL byte', () => Buffer.from([0])),
  withBody('65 levels', (body) => injected(body, `"result":${nested('[', ']', 64)}`)),
  withBody('63 levels', (body) => injected(body, `"result":${nested('{"a":', '}', 62)}`)),
  withBody('5,000 levels', () => nested('[', ']', 5_000)),
  withBody('100,000 levels', () => nested('{"a":', '}', 100_000)),
  withBody('a text of 200,000 characters', (body) => injected(body, `"result":"${'x'.repeat(200_000)}"`)),
  withBody('50,000 fields', (body) =>
    injected(body, Array.from({ length: 50_000 }, (_, n) => `"f${n}":${n}`).join()),
  ),
  withBody('one byte over a mebibyte', () => `"${'x'.repeat(1024 * 1024 - 1)}"`),
];

const TARGETS: readonly Twist[] = (
  [
    ['a lone percent sign', (target) => `${target}%`],
    ['percent and no hex', (target) => `${target}%zz`],
    ['an overlong slash', (target) => `${target}%c0%af`],
    ['half a character', (target) => `${target}%e2%82`],
    ['NUL', (target) => target.replace(/[0-9a-f]{12}|$/, '%00')],
    ['NUL in the query', (target) => `${target}?q=a%00b&label=%00`],
    ['bad percent in the query', (target) => `${target}?q=%&label=%zz&cursor=%ff`],
    ['a surrogate in the query', (target) => `${target}?q=%ed%a0%80`],
    ['way up', (target) => `/v1/../..${target}/..%2f..%2fetc%2fpasswd`],
    ['two slashes', (target) => target.replaceAll('/', '//')],
    ['a slash at its end', (target) => `${target}/`],
    ['upper case', (target) => target.toUpperCase()],
    ['bytes above ASCII', (target) => `${target}\xff\xe2\x82\xac`],
    ['a fragment', (target) => `${target}#part`],
    ['a matrix parameter', (target) => `${target};a=b`],
    ['absolute', (target) => `http://elsewhere.example${target}`],
    ['nothing but a star', () => '*'],
    ['9,000 characters', (target) => `${target}${'x'.repeat(9_000)}`],
    ['600 characters in one part', (target) => `${target}/${'x'.repeat(600)}`],
    ['a query of 5,000 parameters', (target) => `${target}?${'a=&'.repeat(2_000)}`],
    ['prototypes in the query', (target) => `${target}?__proto__[x]=1&constructor=1&toString=1`],
    ['brackets in the query', (target) => `${target}?limit[]=1&limit[$gt]=0`],
    ['one parameter many times', (target) => `${target}?limit=1&limit=2&cursor=&cursor=x&type=a&type=b`],
    ['empty parameters', (target) => `${target}?limit=&cursor=&after=&q=&wait_seconds=&=&&`],
    ['another question mark', (target) => `${target}?a?b=c?`],
    ['spaces', (target) => `${target} x`],
    ['nowhere', () => '/v1/no/such/place'],
    ['another version', (target) => target.replace('/v1', '/v2')],
    ['the description', () => '/openapi.json'],
    ['a problem that is none', () => '/problems/__proto__'],
    ['a file of the interface', () => '/docs/static/..%2f..%2fpackage.json'],
  ] as const satisfies readonly (readonly [string, (target: string) => string])[]
).map(([what, change]) =>
  twist(what, (request) => ({ ...request, target: change(request.target.replace(/\?.*/, '')) })),
);

const METHODS: readonly Twist[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'PURGE',
  'M-SEARCH',
  'QUERY',
  'get',
  'NOSUCH',
  'G\0T',
].map((method) => twist(`the method ${method}`, (request) => ({ ...request, method })));

const header = (name: string, ...values: string[]): Twist =>
  twist(`${name}: ${values.join(' and ').slice(0, 60)}`, (request) => withHeader(request, name, ...values));

const HEADERS: readonly Twist[] = [
  ...[
    'text/plain',
    'application/xml',
    'application/json; charset=utf-16',
    'application/merge-patch+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json, text/plain',
    'nonsense',
    '',
    '\xff',
  ].map((type) => header('Content-Type', type)),
  header('Content-Type', 'application/json', 'text/plain'),
  header('Content-Encoding', 'gzip'),
  header('Content-Length', '5', '6'),
  header('Content-Length', '-1'),
  header('Content-Length', '1e3'),
  header('Content-Length', '99999999999999999999'),
  header('Transfer-Encoding', 'gzip'),
  header('Transfer-Encoding', 'chunked', 'identity'),
  header('Expect', '100-continue'),
  header('Expect', 'a miracle'),
  header('Upgrade', 'h2c'),
  header('Host'),
  header('Host', 'a', 'b'),
  header('Host', '\xe2\x82\xac'),
  header('Authorization', 'Bearer'),
  header('Authorization', `Bearer ${'x'.repeat(600)}`),
  header('Authorization', 'Bearer fb_0000000000000000_00000000000000000000000000000000000000'),
  header('Authorization', 'Bearer a', 'Bearer b'),
  header('Authorization', '\xff\xfe'),
  header('If-Match', '"v1"', '"v2"'),
  header('If-Match', '\xff'),
  header('If-Match', `"v${'9'.repeat(400)}"`),
  header('Idempotency-Key', 'one', 'two'),
  header('Idempotency-Key', '\xe9\xe9'),
  header('Idempotency-Key', '\\"\\'),
  header('Prefer', 'wait=99999999999999999999'),
  header('Prefer', 'wait="20'),
  header('Accept', `${'a/b,'.repeat(2_000)}*/*`),
  header('Accept', ';;;=,,,\xff'),
  header('X-Request-Id', 'a\xffb'),
  header('X-Request-Id', 'one', 'two'),
  header('traceparent', '00-\xff'),
  header('traceparent', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, 'x'),
  header('Last-Event-ID', '9'.repeat(15)),
  header('Last-Event-ID', '__proto__'),
  header('X-Forwarded-For', '127.0.0.1, \xff'),
  header('X-HTTP-Method-Override', 'DELETE'),
  header('__proto__', 'x'),
  header('X-Long', 'x'.repeat(20_000)),
  header('Folded', 'one\r\n two'),
  header('Bare', 'one\ntwo'),
  header('No Name', 'x'),
  header('X-Nul', 'a\0b'),
  ...[1_500, 3_000].map((count) =>
    twist(`${count} headers`, (request) => ({
      ...request,
      headers: [...request.headers, ...Array(count).fill(['X', '1'] as const)],
    })),
  ),
];

const WAYS: readonly Twist[] = [
  twist('in chunks', (request) => {
    if (request.body === null) return request;
    const chunks = Array.from({ length: Math.ceil(request.body.length / 7) }, (_, n) => {
      const part = request.body?.subarray(n * 7, n * 7 + 7) ?? Buffer.alloc(0);
      return Buffer.concat([Buffer.from(`${part.length.toString(16)};x=y\r\n`), part, Buffer.from('\r\n')]);
    });
    const body = Buffer.concat([...chunks, Buffer.from('0\r\nX-Trailer: 1\r\n\r\n')]);
    return withHeader({ ...request, body }, 'Transfer-Encoding', 'chunked');
  }),
  twist('in chunks that are none', (request) => {
    const body = Buffer.from('zz\r\n{}\r\n0\r\n\r\n');
    return withHeader({ ...request, body }, 'Transfer-Encoding', 'chunked');
  }),
  twist('a length and chunks', (request) =>
    withHeader(
      withHeader({ ...request, body: Buffer.from('0\r\n\r\n') }, 'Content-Length', '5'),
      'Transfer-Encoding',
      'chunked',
    ),
  ),
  twist('less than it said', (request) => {
    const body = request.body ?? Buffer.from('{');
    return { ...withHeader({ ...request, body }, 'Content-Length', String(body.length + 10)), cutOff: true };
  }),
  twist('a wait, and gone before its end', (request) => ({
    ...withHeader(
      { ...request, method: 'POST', target: '/v1/tasks/claim?wait_seconds=30' },
      'Prefer',
      'wait=30',
    ),
    hangUpAfterMs: 30,
  })),
  twist('a wait for events, and gone before its end', (request) => ({
    ...request,
    method: 'GET',
    target: '/v1/events?after=999999999&wait_seconds=30',
    hangUpAfterMs: 30,
  })),
  twist('gone at once', (request) => ({ ...request, hangUpAfterMs: 1 })),
];

const drawn: fc.Arbitrary<Twist> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...BODIES) },
  {
    weight: 2,
    arbitrary: fc.json({ maxDepth: 6, stringUnit: 'binary' }).map((json) => withBody('any JSON', () => json)),
  },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 200 })
      .map((bytes) => withBody('any bytes', () => Buffer.from(bytes))),
  },
  { weight: 3, arbitrary: fc.constantFrom(...TARGETS) },
  {
    weight: 1,
    arbitrary: fc
      .string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 })
      .map((text) =>
        twist('any address', (request) => ({ ...request, target: `/${text.replaceAll(/[\r\n]/g, '')}` })),
      ),
  },
  { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
  { weight: 4, arbitrary: fc.constantFrom(...HEADERS) },
  { weight: 1, arbitrary: fc.constantFrom(...WAYS) },
);

/** One thing that no well-meant client would do, seldom two or three. */
export const twists: fc.Arbitrary<readonly Twist[]> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(drawn) },
  { weight: 2, arbitrary: fc.array(drawn, { minLength: 2, maxLength: 3 }) },
);
