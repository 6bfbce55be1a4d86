import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

/** The part of JSON Schema that the API description uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** Where a value of a request stands outside its body. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

/** One operation as the committed description tells of it. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** Who may call it; `any` for every agent. */
  readonly roles: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly body: Schema | null;
  /** Whether its body, as parsed, is as described. */
  readonly fits: (body: unknown) => boolean;
  /** What is wrong with an answer of that status and media type; null when it is as described. */
  readonly wrongWith: (status: number, type: string | null, body: string) => string | null;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
  readonly 'x-roles': readonly string[];
}

interface Description {
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
}

const text = readFileSync(new URL('../../../openapi.yaml', import.meta.url), 'utf8');
const document: Description = parse(text);
/** Inside a schema of its own a reference leads to `$defs`. */
const inline: Description = parse(text.replaceAll('#/components/schemas/', '#/$defs/'));

const PROBLEM: Content = {
  content: { 'application/problem+json': { schema: { $ref: '#/$defs/Problem' } } },
};

/** A schema without its reference. */
export function resolved(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (document.components.schemas[name] ?? schema);
}

/** Built when first asked: most operations share the few schemas there are. */
function validatorOf(schema: Schema): () => z.ZodType {
  let built: z.ZodType | null = null;
  return () => {
    built ??= z.fromJSONSchema(JSON.parse(JSON.stringify({ ...schema, $defs: inline.components.schemas })));
    return built;
  };
}

function answersOf(responses: Readonly<Record<string, Content>>): Operation['wrongWith'] {
  const declared = new Map<string, ReadonlyMap<string, () => z.ZodType>>();
  for (const [status, response] of Object.entries({ ...responses, default: PROBLEM })) {
    const types = Object.entries(response.content ?? {});
    declared.set(status, new Map(types.map(([type, { schema }]) => [type, validatorOf(schema)])));
  }
  return (status, type, body) => {
    const types = declared.get(String(status)) ?? (status >= 400 ? declared.get('default') : undefined);
    if (types === undefined) return `status ${status} is not described`;
    if (types.size === 0) return type === null && body === '' ? null : `status ${status} has no body`;
    const validator = types.get(type ?? '');
    if (validator === undefined) return `status ${status} is not described as ${type}`;
    if (type?.startsWith('text/')) return null;
    const result = validator().safeParse(JSON.parse(body));
    return result.success ? null : z.prettifyError(result.error);
  };
}

function operationOf(path: string, method: string, described: DescribedOperation): Operation {
  const parameters = (described.parameters ?? []).flatMap((parameter) => {
    if (!('$ref' in parameter)) return [parameter];
    const shared = document.components.parameters[parameter.$ref.split('/').at(-1) ?? ''];
    return shared === undefined ? [] : [shared];
  });
  const body = described.requestBody?.content?.['application/json']?.schema ?? null;
  const validator = body === null ? null : validatorOf(JSON.parse(inlined(body)));
  return {
    id: described.operationId,
    method: method.toUpperCase(),
    path,
    roles: described['x-roles'],
    parameters,
    body,
    fits: (value) => validator?.().safeParse(value).success ?? true,
    wrongWith: answersOf(JSON.parse(inlined(described.responses))),
  };
}

function inlined(part: object): string {
  return JSON.stringify(part).replaceAll('#/components/schemas/', '#/$defs/');
}

/** Every operation of the committed description. */
export const OPERATIONS: readonly Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, described]) => operationOf(path, method, described)),
);

/** What is wrong with a problem document, whatever it answers. */
export const wrongWithProblem = (body: string): string | null =>
  answersOf({})(400, 'application/problem+json', body);
