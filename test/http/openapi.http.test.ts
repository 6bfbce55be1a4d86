import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type ApiDocument, finishDocument } from '../../src/http/openapi-document.js';
import { type HttpApp, httpApp, plantTasks } from '../support/http-app.js';

const run = promisify(execFile);

let http: HttpApp;
let document: ApiDocument;
beforeAll(async () => {
  http = await httpApp(plantTasks);
  document = (await http.app.inject('/openapi.json')).json();
});
afterAll(() => http.app.close());

describe('the API description', () => {
  it('is OpenAPI 3.1, the same as JSON, as YAML and from the app', async () => {
    expect(document.openapi).toBe('3.1.1');
    const yaml = await http.app.inject('/openapi.yaml');
    expect(yaml.headers['content-type']).toBe('application/yaml; charset=utf-8');
    expect(parse(yaml.body)).toEqual(document);
    expect(http.app.apiDescription()).toEqual(document);
  });

  it('lists the routes that have an operation, and nothing else', () => {
    expect(Object.keys(document.paths)).toEqual(['/v1/tasks', '/v1/tasks/{id}', '/v1/tasks/{id}/unblock']);
  });

  it('says of each operation who may call it and how it fails', () => {
    const operation = document.paths['/v1/tasks/{id}/unblock']?.post;
    expect(operation).toMatchObject({
      operationId: 'unblockTask',
      description: 'For: planner, operator.',
      security: [{ bearer: [] }],
      'x-roles': ['planner', 'operator'],
      responses: { default: { $ref: '#/components/responses/Problem' } },
    });
  });

  it('lists the headers that an operation takes', () => {
    const names = (parameters: object[] = []) => JSON.stringify(parameters);
    expect(names(document.paths['/v1/tasks']?.post?.parameters)).toContain('parameters/IdempotencyKey');
    expect(names(document.paths['/v1/tasks/{id}']?.get?.parameters)).toContain('parameters/IfNoneMatch');
    expect(names(document.paths['/v1/tasks/{id}']?.get?.parameters)).not.toContain(
      'parameters/IdempotencyKey',
    );
  });

  it('says that who has the present version is told so', () => {
    expect(document.paths['/v1/tasks/{id}']?.get?.responses['304']).toEqual({ description: 'Not Modified' });
    expect(document.paths['/v1/tasks']?.post?.responses['304']).toBeUndefined();
  });

  it('passes the linter', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    const file = join(folder, 'openapi.json');
    await writeFile(file, JSON.stringify(document));
    const linter = [
      'node_modules/@redocly/cli/bin/cli.js',
      'lint',
      '--config',
      'redocly.yaml',
      '--format',
      'json',
      file,
    ];
    const { stdout } = await run(process.execPath, linter, {
      env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
    });
    await rm(folder, { recursive: true });
    expect(JSON.parse(stdout).totals).toMatchObject({ errors: 0, warnings: 0 });
  });
});

describe('schemas', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const documentOf = (schemas: Record<string, object>, used: string[]): ApiDocument =>
    finishDocument({
      openapi: '3.1.1',
      info: {},
      paths: { '/x': { get: { responses: { 200: { description: 'x', uses: used.map(ref) } } } } },
      components: { schemas },
    });

  it('that say the same as sent and as answered are one', () => {
    const schemas = {
      Part: { type: 'string' },
      PartInput: { type: 'string' },
      Whole: { properties: { part: ref('Part') } },
      WholeInput: { properties: { part: ref('PartInput') } },
    };
    const merged = documentOf(schemas, ['Whole', 'WholeInput']).components.schemas;
    expect(Object.keys(merged)).toEqual(['Part', 'Problem', 'Whole']);
  });

  it('that differ stay two, and so do those that lead to them', () => {
    const schemas = {
      Part: { type: 'string' },
      PartInput: { type: 'number' },
      Whole: { properties: { part: ref('Part') } },
      WholeInput: { properties: { part: ref('PartInput') } },
    };
    const kept = documentOf(schemas, ['Whole', 'WholeInput']).components.schemas;
    expect(Object.keys(kept)).toEqual(['Part', 'PartInput', 'Problem', 'Whole', 'WholeInput']);
  });

  it('that nothing refers to are left out', () => {
    const schemas = { Unused: ref('OnlyByUnused'), OnlyByUnused: {}, Used: {} };
    expect(Object.keys(documentOf(schemas, ['Used']).components.schemas)).toEqual(['Problem', 'Used']);
  });
});

describe('Swagger UI', () => {
  it('is served from here, under a policy that allows nothing from elsewhere', async () => {
    const page = await http.app.inject('/docs');
    expect(page.statusCode).toBe(200);
    expect(page.body).not.toMatch(/https?:\/\//);
    expect(page.headers['content-security-policy']).toContain("script-src 'self';");
    expect(page.body).not.toMatch(/<script(?![^>]*src=)/);
    const script = await http.app.inject('/docs/static/swagger-initializer.js');
    expect(script.body).toContain('"validatorUrl":null');
    expect(script.body).toContain('"persistAuthorization":true');
    expect((await http.app.inject('/docs/static/swagger-ui-bundle.js')).statusCode).toBe(200);
  });

  it('shows the same document', async () => {
    expect((await http.app.inject('/docs/json')).json()).toEqual(document);
  });
});
