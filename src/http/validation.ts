import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { InputError } from '../kernel/refusal.js';
import { invalidInput, RefusedRequest } from './errors.js';
import { pointerTo } from './input-guard.js';

type Issue = z.core.$ZodIssue;

/** Where each part of a request is found by the pointers of its faults; the body is the root. */
const PREFIXES: Readonly<Record<string, string>> = {
  querystring: '/query',
  params: '/params',
  headers: '/headers',
};

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'a time in RFC 3339, e.g. 2026-01-31T08:00:00Z',
  date: 'a date, e.g. 2026-01-31',
  uuid: 'a UUID',
  url: 'a URL',
  email: 'an e-mail address',
  regex: 'in the expected form',
};

/** Text of a query that is no number arrives here as NaN, whose kind would only confuse. */
function contrast(value: unknown): string {
  return Number.isNaN(value) ? '' : `, not ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return KINDS[typeof value] ?? typeof value;
}

/** What is wrong, in a sentence that never repeats the value: it may be a secret. A schema's own message goes first. */
function sentenceFor(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'This field is required.';
      return `Must be ${KINDS[issue.expected] ?? issue.expected}${contrast(issue.input)}.`;
    case 'invalid_value':
      if (issue.input === undefined) return 'This field is required.';
      return `Must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}.`;
    case 'too_small':
      return boundSentence(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'too_big':
      return boundSentence(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'invalid_format':
      return `Must be ${FORMATS[issue.format] ?? `a valid ${issue.format}`}.`;
    case 'not_multiple_of':
      return `Must be a multiple of ${issue.divisor}.`;
    case 'invalid_union':
      return issue.input === undefined
        ? 'This field is required.'
        : 'Has none of the forms that are accepted here.';
    case 'invalid_key':
      return 'This field name is not allowed here.';
    default:
      return undefined;
  }
}

function boundSentence(origin: string, relation: string, bound: number | bigint): string {
  if (origin === 'string') {
    return relation === 'at least' && bound === 1
      ? 'Must not be empty.'
      : `Must have ${relation} ${bound} characters.`;
  }
  if (origin === 'array' || origin === 'set') return `Must have ${relation} ${bound} entries.`;
  if (origin === 'object' || origin === 'record' || origin === 'map')
    return `Must have ${relation} ${bound} fields.`;
  return `Must be ${relation} ${bound}.`;
}

/** One entry for each fault, in the order of the schema. */
export function faultsOf(issues: readonly Issue[], prefix: string): InputError[] {
  return issues.flatMap((issue) => faultsOfIssue(issue, prefix));
}

function faultsOfIssue(issue: Issue, prefix: string): InputError[] {
  const pointer = pointerTo(prefix, issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      pointer: pointerTo(pointer, [key]),
      detail: `There is no field ${key} here.`,
      code: 'unknown_field',
    }));
  }
  if (issue.code === 'invalid_union') {
    const meant = branchMeant(issue.errors);
    if (meant !== null) return faultsOf(meant, pointer);
  }
  const missing = issue.input === undefined && issue.code !== 'custom';
  return [{ pointer, detail: issue.message, code: missing ? 'required' : issue.code }];
}

/** The alternative a caller most likely meant: one whose outer form fits, with the fewest faults inside. */
function branchMeant(branches: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const fitting = branches.filter((issues) => issues.length > 0 && !issues.some(isOuterType));
  return fitting.sort((one, other) => one.length - other.length)[0] ?? null;
}

function isOuterType(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value');
}

/**
 * Requests are validated by their zod schemas. Answers are not: the shape of an answer is held by its type and by the
 * tests, and an answer that fails after the commit would lose what the caller has just got.
 */
export function validateWithZod(app: FastifyInstance): void {
  app.setValidatorCompiler<z.core.$ZodType>(({ schema, httpPart }) => {
    const prefix = PREFIXES[httpPart ?? ''] ?? '';
    const context = { error: sentenceFor, reportInput: true };
    return (data: unknown) => {
      // Without a context zod takes its fast path, several times faster; what it refuses is told in our words.
      const parsed = z.core.safeParse(schema, data);
      if (parsed.success) return { value: parsed.data };
      const result = z.core.safeParse(schema, data, context);
      if (result.success) return { value: result.data };
      return { error: new RefusedRequest(invalidInput(faultsOf(result.error.issues, prefix))) };
    };
  });
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
}
