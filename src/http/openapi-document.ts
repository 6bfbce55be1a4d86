import { STATUS_CODES } from 'node:http';
import { HEADER_PARAMETERS, PARAMETER_OF, PROBLEM_RESPONSE, PROBLEM_SCHEMA } from './openapi-parts.js';

/** The part of an operation that is completed here. */
export interface ApiOperation {
  operationId?: string;
  parameters?: object[];
  responses: Record<string, { description?: string; $ref?: string }>;
  tags?: string[];
  'x-parameters'?: string[];
}

/** An OpenAPI document. */
export interface ApiDocument {
  openapi: string;
  info: object;
  tags?: { name: string }[];
  paths: Record<string, Record<string, ApiOperation>>;
  components: {
    schemas: Record<string, object>;
    responses?: Record<string, object>;
    parameters?: Record<string, object>;
    securitySchemes?: Record<string, object>;
  };
}

const INPUT = 'Input';

function refTo(name: string): string {
  return `"#/components/schemas/${name}"`;
}

function replaceRefs(text: string, names: readonly string[]): string {
  return names.reduce((result, name) => result.replaceAll(refTo(`${name}${INPUT}`), refTo(name)), text);
}

/** The schemas that say the same as sent and as answered, or are only sent. */
function namesForBoth(schemas: Readonly<Record<string, object>>): string[] {
  const inputs = Object.keys(schemas).filter((name) => name.endsWith(INPUT));
  let same = inputs.map((name) => name.slice(0, -INPUT.length));
  const textOf = (name: string): string => replaceRefs(JSON.stringify(schemas[name]), same);
  // Until nothing changes: whether two are equal depends on whether those they refer to are.
  for (let before = -1; before !== same.length; ) {
    before = same.length;
    same = same.filter((name) => !Object.hasOwn(schemas, name) || textOf(name) === textOf(`${name}${INPUT}`));
  }
  return same;
}

/** Schemas are generated in two spellings, `Task` as answered and `TaskInput` as sent. Where one is enough, it is `Task`. */
function mergeInputs(document: ApiDocument): ApiDocument {
  const names = namesForBoth(document.components.schemas);
  const result: ApiDocument = JSON.parse(replaceRefs(JSON.stringify(document), names));
  const { schemas } = result.components;
  for (const name of names) {
    const input = schemas[`${name}${INPUT}`];
    if (input !== undefined) schemas[name] = input;
    delete schemas[`${name}${INPUT}`];
  }
  return result;
}

/** Leaves out the schemas that nothing refers to. */
function dropUnused(document: ApiDocument): void {
  const { schemas } = document.components;
  for (let dropped = true; dropped; ) {
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(refTo(name)));
    for (const name of unused) delete schemas[name];
    dropped = unused.length > 0;
  }
}

function completeOperation(operation: ApiOperation): void {
  const references = (operation['x-parameters'] ?? []).map((name) => ({
    $ref: `#/components/parameters/${name}`,
  }));
  delete operation['x-parameters'];
  if (references.length > 0) operation.parameters = [...(operation.parameters ?? []), ...references];
  for (const [status, response] of Object.entries(operation.responses)) {
    if (response.description === 'Default Response') response.description = STATUS_CODES[status] ?? 'Success';
  }
  // Who says which version it has may be told that it is still the present one.
  if (references.some(({ $ref }) => $ref.endsWith(`/${PARAMETER_OF['if-none-match']}`)))
    operation.responses['304'] = { description: STATUS_CODES[304] ?? '' };
  operation.responses.default = { $ref: '#/components/responses/Problem' };
}

/** A whole number is bounded by what a double holds exactly, which says nothing about the API. */
function withoutSafeBounds(key: string, value: unknown): unknown {
  const bound = key === 'minimum' || key === 'maximum';
  return bound && typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER
    ? undefined
    : value;
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** A document as generated from the routes, with what all operations share, and in a stable order. */
export function finishDocument(generated: object): ApiDocument {
  const copy: ApiDocument = JSON.parse(JSON.stringify(generated), withoutSafeBounds);
  const operations = Object.values(copy.paths).flatMap((item) => Object.values(item));
  for (const operation of operations) completeOperation(operation);
  const used = new Set(operations.flatMap((operation) => operation.tags ?? []));
  copy.tags = (copy.tags ?? []).filter((tag) => used.has(tag.name));
  copy.components.schemas.Problem = PROBLEM_SCHEMA;
  copy.components.responses = { Problem: PROBLEM_RESPONSE };
  copy.components.parameters = { ...HEADER_PARAMETERS };
  dropUnused(copy);
  const document = mergeInputs(copy);
  const text = JSON.stringify(document.paths);
  const { parameters = {} } = document.components;
  for (const name of Object.keys(parameters)) {
    if (!text.includes(`"#/components/parameters/${name}"`)) delete parameters[name];
  }
  document.paths = sorted(document.paths);
  document.components.schemas = sorted(document.components.schemas);
  return document;
}
