import fastifySwagger, { type SwaggerTransform } from '@fastify/swagger';
import fastifySwaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { stringify } from 'yaml';
import { z } from 'zod';
import { protectHtml } from './html.js';
import { type ApiDocument, finishDocument } from './openapi-document.js';
import { type DocumentedHeader, PARAMETER_OF, TAGS } from './openapi-parts.js';
import { sendJson } from './respond.js';
import type { RouteRoles } from './types.js';

/** Swagger UI brings its own files and sets styles from its scripts. */
const UI_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const INFO_TEXT =
  'A task board for planner, executor and reviewer agents that stops them when they do not stop themselves. ' +
  'Every answer from status 400 on is a problem document whose `type` leads to a page that explains it.';

/** Adds to a route's description what its config says. */
const describeRoute: SwaggerTransform = (input) => {
  const { schema, route } = input;
  if (schema === undefined || schema.hide === true) return { schema: { hide: true }, url: input.url };
  const described = jsonSchemaTransform(input);
  const roles = route.config?.roles;
  return {
    url: described.url,
    schema: {
      ...described.schema,
      ...bodyWithExamples(schema.body, described.schema.body),
      description: [schema.description, rolesSentence(roles)]
        .filter((text) => text !== undefined)
        .join('\n\n'),
      security: roles === 'public' ? [] : [{ bearer: [] }],
      'x-roles': typeof roles === 'string' ? [roles] : [...(roles ?? [])],
      'x-parameters': parametersOf(route.method, route.config?.headers),
    },
  };
};

/**
 * A body with the examples that its schema gives. They are what one sends; zod leaves them out wherever something in the
 * body is transformed on its way in, as every id is, because it takes them for what comes out.
 */
function bodyWithExamples(schema: unknown, body: unknown): { body?: object } {
  if (!(schema instanceof z.ZodType) || typeof body !== 'object' || body === null) return {};
  const own = schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  const examples = own instanceof z.ZodType ? z.globalRegistry.get(own)?.examples : undefined;
  return Array.isArray(examples) && !('$ref' in body) ? { body: { ...body, examples } } : {};
}

function rolesSentence(roles: RouteRoles | undefined): string | undefined {
  if (roles === undefined || roles === 'public') return undefined;
  return roles === 'any' ? 'For any agent.' : `For: ${roles.join(', ')}.`;
}

function parametersOf(method: string | string[], headers: readonly DocumentedHeader[] = []): string[] {
  const keyed = method === 'POST' || method === 'PATCH';
  return [...(keyed ? ['IdempotencyKey'] : []), ...headers.map((header) => PARAMETER_OF[header])];
}

/** The API description as the file in the repository has it. */
export function toYaml(document: object): string {
  return stringify(document, { aliasDuplicateObjects: false, lineWidth: 110 });
}

/** Describes the routes that are registered after it: `/openapi.json`, `/openapi.yaml`, and Swagger UI at `/docs`. */
export async function describeRoutes(app: FastifyInstance, version: string): Promise<void> {
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'Fuseboard',
        version,
        description: INFO_TEXT,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'The server that this document came from' }],
      tags: [...TAGS],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'A key from `.fuseboard/keys.env`, `fb_…`.',
          },
        },
      },
    },
    convertConstToEnum: false,
    transform: describeRoute,
    transformObject: jsonSchemaTransformObject,
  });
  let cached: ApiDocument | null = null;
  const describe = (): ApiDocument => {
    cached ??= finishDocument(app.swagger());
    return cached;
  };
  app.decorate('apiDescription', describe);
  serveDocument(app, describe);
  await app.register(async (docs) => {
    docs.addHook('onRoute', (route) => {
      route.config = { ...route.config, roles: 'public' };
    });
    docs.addHook('onSend', (_request, reply, _payload, done) => {
      protectHtml(reply, UI_POLICY);
      done();
    });
    await docs.register(fastifySwaggerUi, {
      routePrefix: '/docs',
      // The bar on top is for other descriptions than this one.
      theme: {
        title: 'Fuseboard API',
        css: [{ filename: 'theme.css', content: '.swagger-ui .topbar { display: none; }' }],
      },
      uiConfig: {
        validatorUrl: null,
        persistAuthorization: true,
        tryItOutEnabled: true,
        displayRequestDuration: true,
      },
      transformSpecification: () => ({ ...describe() }),
    });
  });
}

function serveDocument(app: FastifyInstance, describe: () => ApiDocument): void {
  const options = { config: { roles: 'public' }, schema: { hide: true } } as const;
  let json: string | null = null;
  let yaml: string | null = null;
  app.get('/openapi.json', options, (_request, reply) => {
    json ??= JSON.stringify(describe());
    return sendJson(reply, 200, json);
  });
  app.get('/openapi.yaml', options, (_request, reply) => {
    yaml ??= toYaml(describe());
    return reply.type('application/yaml; charset=utf-8').send(yaml);
  });
}
