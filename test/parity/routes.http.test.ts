import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastify, { type FastifyInstance, type RouteOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/kernel/ids.js';
import { guardPlugin } from '../../src/modules/guard/index.js';
import { COMMAND_TYPES, tasksRoutes } from '../../src/modules/tasks/index.js';
import { TRANSITIONS } from '../../src/modules/tasks/transitions.js';
import { startTestApp, type TestApp } from '../support/app.js';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** The routes of the tasks room, as they are declared. */
function declared(): RouteOptions[] {
  const routes: RouteOptions[] = [];
  const bare = fastify();
  bare.addHook('onRoute', (route) => void routes.push(route));
  tasksRoutes(bare, app.tasks, app.deps.events, newId, async () => true);
  return routes;
}

describe('commands and routes', () => {
  it('every command that agents send has a route, and only those', () => {
    const commands = new Set(declared().flatMap(({ config }) => config?.command ?? []));
    const sent = COMMAND_TYPES.filter((type) => !TRANSITIONS[type].by.includes('server'));
    // A trip is recovered by the trips room, which sends these.
    const elsewhere = ['split', 'escalate'];
    expect([...commands].sort()).toEqual(sent.filter((type) => !elsewhere.includes(type)).sort());
  });

  it('a route’s door lets in the roles of the table', () => {
    for (const { url, method, config } of declared()) {
      const command = COMMAND_TYPES.find((type) => type === config?.command);
      if (command === undefined) continue;
      const { by } = TRANSITIONS[command];
      const expected = by.includes('holder') ? 'any' : by;
      expect([method, url, config?.roles]).toEqual([method, url, expected]);
    }
  });
});

describe('a writing route', () => {
  async function boot(plant: (guarded: FastifyInstance) => void): Promise<string | null> {
    const planted = fastify();
    await planted.register(guardPlugin, { commands: new Set(COMMAND_TYPES) });
    try {
      plant(planted);
      await planted.ready();
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : 'failed';
    }
  }
  const handler = async () => 'written';

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)(
    '%s that declares no command stops the boot, and is named',
    async (method) => {
      const message = await boot((planted) => planted.route({ method, url: '/v1/by-the-way', handler }));
      expect(message).toContain(`${method} /v1/by-the-way`);
    },
  );

  it('of several methods is looked at for each of them', async () => {
    expect(
      await boot((planted) => planted.route({ method: ['GET', 'POST'], url: '/v1/x', handler })),
    ).not.toBeNull();
  });

  it('with a command that the machine does not have stops the boot', async () => {
    const config = { command: 'paint' };
    expect(await boot((planted) => planted.post('/v1/x', { config, handler }))).not.toBeNull();
  });

  it('that is administrative and names a command stops the boot: it must be one of the two', async () => {
    const config = { command: 'cancel', administrative: true } as const;
    expect(await boot((planted) => planted.post('/v1/x', { config, handler }))).not.toBeNull();
  });

  it('with a command, or administrative, or one that only reads, is served', async () => {
    const message = await boot((planted) => {
      planted.post('/v1/a', { config: { command: 'cancel' }, handler });
      planted.post('/v1/b', { config: { administrative: true }, handler });
      planted.get('/v1/c', { handler });
    });
    expect(message).toBeNull();
  });
});

describe('what refusals send their readers to', () => {
  /** Every call named in a next action anywhere in the sources. */
  async function named(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const entry of await readdir(SRC, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !entry.name.endsWith('.ts') || entry.parentPath.includes('generated')) continue;
      const text = await readFile(join(entry.parentPath, entry.name), 'utf8');
      for (const [, call = ''] of text.matchAll(/(?:call: |onTask\()'([a-z_]+)'/g))
        found.set(call, entry.name);
    }
    return found;
  }

  it('is served: each call is the operation of a route', async () => {
    const calls = await named();
    expect(calls.size).toBeGreaterThan(5);
    const missing = [...calls].filter(([call]) => !app.app.operations.has(call));
    expect(missing).toEqual([]);
  });
});
