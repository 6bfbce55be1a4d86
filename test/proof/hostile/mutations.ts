import fc from 'fast-check';
import { type Operation, resolved, type Schema } from './contract.js';
import { isRecord, Ref, type Template } from './template.js';
import { validRequest } from './values.js';

/** One way of making a value wrong, made only when it is chosen: some are large. */
interface Wrong {
  readonly what: string;
  /** Where in a body, as a pointer. */
  readonly at?: string;
  readonly make: () => unknown;
}

const wrong = (what: string, value: unknown): Wrong => ({ what, make: () => value });

/** What no field of any kind takes, or only by accident. */
const STRANGE: readonly Wrong[] = [
  wrong('null', null),
  wrong('true', true),
  wrong('a list', []),
  wrong('an object', {}),
  wrong('a number in words', '7'),
  wrong('NaN in words', 'NaN'),
  wrong('a number', 7),
  wrong('below zero', -1),
  wrong('a fraction', 1.5),
  wrong('a huge number', 1e308),
  wrong('a number beyond what is exact', 2 ** 53),
  wrong('blanks', ' \t\n '),
  wrong('NUL', 'a\0b'),
  wrong('half a surrogate pair', 'a\ud83db'),
];

function wrongValues(given: Schema, value: unknown): Wrong[] {
  const schema = resolved(given);
  const found = [...STRANGE];
  const forms = [schema, ...(schema.anyOf ?? []).map(resolved)];
  for (const { minimum, maximum, maxLength, maxItems, enum: words, format, items } of forms) {
    if (minimum !== undefined) found.push(wrong('below the least', minimum - 1));
    if (maximum !== undefined) found.push(wrong('above the most', maximum + 1));
    if (maxLength !== undefined)
      found.push({ what: 'one character too many', make: () => 'x'.repeat(maxLength + 1) });
    if (maxItems !== undefined && items !== undefined)
      found.push({ what: 'one entry too many', make: () => Array(maxItems + 1).fill(first(value)) });
    if (words !== undefined)
      found.push(wrong('another word', 'no_such'), wrong('upper case', words[0]?.toUpperCase()));
    if (format === 'date-time')
      found.push(
        wrong('a day that is none', '2026-02-30T00:00:00Z'),
        wrong('a year that is none', '0000-01-01T00:00:00Z'),
        wrong('a time without a zone', '2026-01-01T00:00:00'),
      );
  }
  if (value instanceof Ref && !NO_ID.has(value.kind)) found.push(...wrongIds(value));
  return found;
}

function first(value: unknown): unknown {
  return Array.isArray(value) && value.length > 0 ? value[0] : 'x';
}

const NO_ID: ReadonlySet<string> = new Set(['lease', 'attempt', 'state']);

function wrongIds(ref: Ref): Wrong[] {
  return [
    wrong('an id of the other project', new Ref(ref.kind, ref.pick, 'other')),
    wrong('an id of nobody', new Ref(ref.kind, ref.pick, 'nobody')),
    wrong('an id of another kind', new Ref(ref.kind === 'task' ? 'run' : 'task', ref.pick)),
    wrong('a bare UUID', '01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b'),
    wrong('an id in upper case', 'TASK_01939B1E-7C4A-7F3E-8A2B-5D6C7E8F9A0B'),
    wrong('an id that is cut off', 'task_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0'),
  ];
}

/** Every way of making one place of a body wrong. */
function wrongBodies(given: Schema, value: unknown, where: string): Wrong[] {
  const schema = resolved(given);
  const here = wrongValues(schema, value).map((one) => ({ ...one, at: where }));
  const form = [schema, ...(schema.anyOf ?? []).map(resolved)].find((one) =>
    Array.isArray(value) ? one.items !== undefined : one.properties !== undefined,
  );
  if (form === undefined) return here;
  if (Array.isArray(value)) {
    const inner = value.flatMap((item, at) =>
      wrongBodies(form.items ?? {}, item, `${where}/${at}`).map((one) => ({
        ...one,
        make: () => value.with(at, one.make()),
      })),
    );
    return [...here, ...inner];
  }
  if (!isRecord(value)) return here;
  const fields = form.properties ?? {};
  const missing = (form.required ?? []).map((name) => ({
    ...wrong('missing', Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))),
    at: `${where}/${name}`,
  }));
  const inner = Object.entries(value).flatMap(([name, part]) =>
    wrongBodies(fields[name] ?? {}, part, `${where}/${name}`).map((one) => ({
      ...one,
      make: () => ({ ...value, [name]: one.make() }),
    })),
  );
  const more = { ...wrong('one field more', { ...value, extra_field: 1 }), at: where };
  return [...here, ...missing, more, ...inner];
}

const NO_SUCH = 'no_such_parameter';

const QUERY: readonly (readonly [string, unknown])[] = [
  [NO_SUCH, '1'],
  ['limit', '0'],
  ['limit', '201'],
  ['limit', '-1'],
  ['limit', 'NaN'],
  ['limit', '1e1'],
  ['limit', '99999999999999999999'],
  ['limit', ['1', '2']],
  ['cursor', 'not-a-cursor'],
  ['cursor', 'MDE5MzliMWUtN2M0YS03ZjNlLThhMmItNWQ2YzdlOGY5YTBi'],
  ['cursor', 'OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5'],
  ['cursor', 'x'.repeat(501)],
  ['after', '-1'],
  ['after', '1'.repeat(400)],
  ['type', 'no.such'],
  ['state', 'asleep'],
  ['task_id', new Ref('task', 3, 'other')],
  ['run_id', new Ref('run', 3, 'other')],
  ['agent_id', new Ref('agent', 3, 'other')],
  ['updated_since', 'yesterday'],
  ['wait_seconds', '31'],
  ['wait_seconds', '-1'],
];

const HEADERS: readonly (readonly [string, unknown])[] = [
  ['If-Match', '"v0"'],
  ['If-Match', 'W/"v1"'],
  ['If-Match', 'v1'],
  ['If-Match', '"v999999999999999"'],
  ['If-Match', '"v1", "v2"'],
  ['If-None-Match', '*'],
  ['Idempotency-Key', ''],
  ['Idempotency-Key', 'k'.repeat(256)],
  ['Idempotency-Key', '"open'],
  ['Idempotency-Key', 'again "1"'],
  ['Accept', 'image/png'],
  ['Accept', 'text/markdown;q=NaN, ;;,=,/'],
  ['Prefer', 'wait=-1'],
  ['Prefer', 'wait=x, wait'],
  ['Last-Event-ID', '-5'],
  ['Last-Event-ID', '1e9'],
  ['X-Request-Id', 'x'.repeat(129)],
  ['X-Request-Id', 'not an id'],
  ['traceparent', '00-00000000000000000000000000000000-0000000000000000-00'],
  ['traceparent', 'ff-x'],
  ['Content-Type', 'text/plain'],
];

type Part = 'path' | 'query' | 'headers' | 'sender' | 'body';

/** One way of making a request wrong: what, and at which place. */
interface Way {
  readonly what: string;
  readonly at: string;
  readonly make: () => Partial<Template>;
}

function put<T>(pairs: readonly (readonly [string, T])[], pair: readonly [string, T]) {
  return [...pairs.filter(([name]) => name !== pair[0]), pair];
}

/** Every way of making one part of a request wrong. */
function waysIn({ operation, path, query, headers, body, sender }: Template, part: Part): Way[] {
  switch (part) {
    case 'path':
      return Object.entries(path).flatMap(([name, value]) =>
        (value instanceof Ref ? wrongIds(value) : []).map(({ what, make }) => ({
          what,
          at: `{${name}}`,
          make: () => ({ path: { ...path, [name]: make() } }),
        })),
      );
    case 'query': {
      const names = new Set([NO_SUCH, ...operation.parameters.map(({ name }) => name)]);
      return QUERY.filter(([name]) => names.has(name)).map((pair) => ({
        what: `${pair[0]}=${pair[1]}`,
        at: 'query',
        make: () => ({ query: put(query, pair) }),
      }));
    }
    case 'headers':
      return [
        ...HEADERS.map((pair) => ({
          what: `${pair[0]}: ${pair[1]}`,
          at: 'headers',
          make: () => ({ headers: put(headers, pair) }),
        })),
        ...headers.map(([missing]) => ({
          what: `no ${missing}`,
          at: 'headers',
          make: () => ({ headers: headers.filter(([name]) => name !== missing) }),
        })),
      ];
    case 'sender':
      return (['any', 'shut out'] as const).map((who) => ({
        what: `sent by ${who}`,
        at: 'sender',
        make: () => ({ sender: { ...sender, who } }),
      }));
    case 'body':
      if (operation.body === null) return [];
      return [
        { what: 'no body', at: '', make: () => ({ body: undefined }) },
        ...wrongBodies(operation.body, body, '').map(({ what, at = '', make }) => ({
          what,
          at,
          make: () => ({ body: make() }),
        })),
      ];
  }
}

const part: fc.Arbitrary<Part> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Part>('body') },
  { weight: 2, arbitrary: fc.constantFrom<Part>('path', 'headers') },
  { weight: 1, arbitrary: fc.constantFrom<Part>('query', 'sender') },
);

/** What the strictness of every body is about. */
const LIKELY: ReadonlySet<string> = new Set(['missing', 'one field more']);

const pickFrom = <T>(items: readonly T[], pick: number): T | undefined => items[pick % items.length];

/** Requests for one operation with exactly one thing wrong: first what is drawn, then where, or the many places would decide. */
export function almostValidRequest(operation: Operation): fc.Arbitrary<Template> {
  const draw = fc.tuple(validRequest(operation), part, fc.nat(1_000_000), fc.nat(1_000_000));
  return draw.map(([template, wanted, kind, place]) => {
    const found = waysIn(template, wanted);
    const ways = found.length > 0 ? found : waysIn(template, 'headers');
    const kinds = [...new Set(ways.map((way) => way.what))];
    const likely = kinds.filter((one) => LIKELY.has(one));
    const what = pickFrom([...kinds, ...likely, ...likely, ...likely], kind);
    const way = pickFrom(
      ways.filter((one) => one.what === what),
      place,
    );
    return way === undefined ? template : { ...template, ...way.make(), wrong: `${way.at}: ${way.what}` };
  });
}
