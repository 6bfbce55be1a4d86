import fc from 'fast-check';
import { type Operation, type Parameter, resolved, type Schema } from './contract.js';
import { isRecord, Ref, type RefKind, type Sender, type Template } from './template.js';

const PICK = 1_000_000;

/** Text that means something to somebody on the way: SQL, array literals, JSON, HTML, paths, terminals. */
const LOADED = [
  "'; DROP TABLE tasks; --",
  '{"a":1}',
  '{NULL,"x"}',
  'NULL',
  '\\',
  '\\u0000',
  '%',
  '_',
  '$1',
  '{{x}}',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  '\u202e',
  '\ufeff',
  '\u{1f680}',
  '\u0001',
  '\u007f',
  'a\r\nX-Injected: 1',
  '"',
  ',',
  '\u2028',
  '\uffff',
];

const ID_KINDS: Readonly<Record<string, RefKind>> = {
  task: 'task',
  run: 'run',
  agt: 'agent',
  trip: 'trip',
  brk: 'breaker',
  ses: 'session',
};

const ref = (kind: RefKind) => fc.nat(PICK).map((pick) => new Ref(kind, pick));
const time = (from: string, to: string) =>
  fc.date({ min: new Date(from), max: new Date(to), noInvalidDate: true }).map((date) => date.toISOString());
const seldom = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: rare });

/** Fields whose values are found by name, because a form alone would seldom lead anywhere. */
const NAMED: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  lease_token: ref('lease'),
  attempt: ref('attempt'),
  expected_state: ref('state'),
  cursor: ref('cursor'),
  after: fc.nat(500).map(String),
  // Waiting is for those who hang up.
  wait_seconds: fc.constant(0),
  retry_after_seconds: seldom(fc.constantFrom(0, 1), fc.integer({ min: 0, max: 86_400 })),
  not_before: seldom(fc.constant(null), time('2020-01-01', '2030-01-01')),
  deadline_at: seldom(time('2030-01-01', '2040-01-01'), time('2020-01-01', '2030-01-01')),
  dedupe_key: fc.nat(30).map((n) => (n > 10 ? null : `key ${n}`)),
  label: fc.constantFrom('red', 'green', LOADED[0]),
  run: seldom<unknown>(fc.constant(null), fc.record({ name: fc.constant('drawn') })),
};

function text({ minLength = 0, maxLength = 100 }: Schema): fc.Arbitrary<string> {
  const drawn = fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
    { weight: 3, arbitrary: fc.constantFrom(...LOADED) },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constant('x'.repeat(Math.min(maxLength, 10_000))) },
  );
  return drawn.map((value) => {
    const clean = value.replaceAll('\0', '');
    return minLength > 0 && clean.trim() === '' ? `x${clean}` : clean;
  });
}

function number({ minimum = -1_000_000, maximum = 1_000_000 }: Schema, whole: boolean): fc.Arbitrary<number> {
  const near = fc.integer({
    min: Math.ceil(minimum),
    max: Math.floor(Math.min(maximum, Math.max(minimum, 0) + 30)),
  });
  const far = whole
    ? fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) })
    : fc.double({ min: minimum, max: maximum, noNaN: true });
  return fc.oneof(
    { weight: 6, arbitrary: near },
    { weight: 1, arbitrary: far },
    { weight: 1, arbitrary: fc.constantFrom(minimum, maximum) },
  );
}

function object({ properties = {}, required = [] }: Schema): fc.Arbitrary<Record<string, unknown>> {
  const needed = new Set(required);
  const fields = Object.entries(properties).map(([name, schema]) => {
    const value = fitting(schema, name);
    const chance = needed.has(name) ? value : fc.option(value, { freq: 2, nil: undefined });
    return chance.map((drawn): [string, unknown] => [name, drawn]);
  });
  return fc
    .tuple(...fields)
    .map((drawn) => Object.fromEntries(drawn.filter(([, value]) => value !== undefined)));
}

/** The tasks of a plan name each other, and only those before them. */
function nameParts(parts: readonly unknown[]): unknown[] {
  return parts.map((part, at) => {
    if (!isRecord(part)) return part;
    const before = Array.isArray(part.depends_on) && at > 0 ? [`part ${at - 1}`] : [];
    return { ...part, ref: `part ${at}`, depends_on: before };
  });
}

function list(
  { items = {}, minItems = 0, maxItems = 3, uniqueItems = false }: Schema,
  name: string,
): fc.Arbitrary<unknown[]> {
  const size = { minLength: minItems, maxLength: Math.min(maxItems, 3) };
  const item = fitting(items, name.replace(/s$/, ''));
  const drawn = uniqueItems ? fc.uniqueArray(item, size) : fc.array(item, size);
  return items.properties?.ref === undefined ? drawn : drawn.map(nameParts);
}

/** Values of a field that its schema allows. */
export function fitting(given: Schema, name = ''): fc.Arbitrary<unknown> {
  const schema = resolved(given);
  const named = NAMED[name];
  if (named !== undefined) return named;
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((form) => fitting(form, name)));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const kind = ID_KINDS[/^\^([a-z]+)_\[/.exec(schema.pattern ?? '')?.[1] ?? ''];
  if (kind !== undefined) return ref(kind);
  if (schema.format === 'date-time') return time('2020-01-01', '2030-01-01');
  switch (schema.type) {
    case 'string':
      return text(schema);
    case 'integer':
      return number(schema, true);
    case 'number':
      return number(schema, false);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return list(schema, name);
    case 'object':
      return object(schema);
    default:
      return fc.oneof(text({ minLength: 1 }), fc.jsonValue({ maxDepth: 3 }));
  }
}

/** Agents and their keys are named by ids whose form is not described. */
function pathValue({ name, schema }: Parameter): fc.Arbitrary<unknown> {
  if (schema.pattern !== undefined) return fitting(schema);
  return ref(name === 'key_id' ? 'key' : 'agent');
}

const HEADERS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  'If-Match': fc.oneof(ref('etag'), fc.constant('*')),
  'If-None-Match': fc.oneof(ref('etag'), fc.constantFrom('*', '"v1"', 'W/"v2", "v3"')),
  'Idempotency-Key': fc.oneof(
    { weight: 8, arbitrary: fc.uuid() },
    // Few, so that some come again.
    { weight: 1, arbitrary: fc.nat(20).map((n) => `"again \\"${n}\\""`) },
  ),
  Prefer: fc.constantFrom('wait=0', 'respond-async, wait=0', 'return=minimal'),
  'Last-Event-ID': fc.nat(300).map(String),
  Accept: fc.constantFrom('*/*', 'application/json', 'text/markdown', 'text/html;q=0.9, */*;q=0.1'),
  'X-Request-Id': fc.uuid(),
  traceparent: fc.constant('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
};

function headersOf(operation: Operation): fc.Arbitrary<readonly (readonly [string, unknown])[]> {
  const described = operation.parameters.filter((parameter) => parameter.in === 'header');
  const names = [...described.map(({ name }) => name), 'Accept', 'X-Request-Id', 'traceparent'];
  const drawn = names.flatMap((name) => {
    const value = HEADERS[name];
    if (value === undefined) return [];
    const pair = value.map((given): [string, unknown] => [name, given]);
    // A change must say which version it is for.
    const needed = name === 'If-Match' && operation.method === 'PATCH';
    return [needed ? pair : fc.option(pair, { freq: 2 })];
  });
  return fc.tuple(...drawn).map((pairs) => pairs.filter((pair) => pair !== null));
}

const sender: fc.Arbitrary<Sender> = fc.record({
  who: fc.nat(19).map((n) => (n === 0 ? 'any' : 'apt')),
  pick: fc.nat(PICK),
});

/** Requests for one operation that are as its description says. */
export function validRequest(operation: Operation): fc.Arbitrary<Template> {
  const path = operation.parameters.filter((parameter) => parameter.in === 'path');
  const query = operation.parameters.filter((parameter) => parameter.in === 'query');
  return fc.record({
    operation: fc.constant(operation),
    sender,
    path: fc
      .tuple(
        ...path.map((parameter) =>
          pathValue(parameter).map((value): [string, unknown] => [parameter.name, value]),
        ),
      )
      .map((pairs) => Object.fromEntries(pairs)),
    query: fc
      .tuple(
        ...query.map(({ name, schema }) =>
          // Seldom: with several filters a list is always empty.
          fc.oneof(
            { weight: 4, arbitrary: fc.constant(null) },
            { weight: 1, arbitrary: fitting(schema, name).map((value): [string, unknown] => [name, value]) },
          ),
        ),
      )
      .map((pairs) => pairs.filter((pair) => pair !== null)),
    headers: headersOf(operation),
    body: operation.body === null ? fc.constant(undefined) : fitting(operation.body),
    wrong: fc.constant(null),
  });
}
