import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ROLES } from '../../../src/kernel/actor.js';
import { KeysFile } from '../../../src/keys-file.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { urlOf } from '../../support/database-url.js';
import { makeFolder } from '../../support/server.js';
import { WORDS } from './marks.js';

const START = fileURLToPath(new URL('../../../scripts/start.mjs', import.meta.url));
/** The first start builds. */
const START_MS = 180_000;

/** The service as a user starts it, and all that it says at the terminal. */
class Started {
  private said = '';
  private readonly child: ChildProcess;

  constructor(env: NodeJS.ProcessEnv) {
    this.child = spawn(process.execPath, [START], {
      env: { ...process.env, PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'trace', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.said += chunk.toString();
      });
  }

  /** Where it serves. */
  ready(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.child.stderr?.on('data', () => {
        const url = /ready at (\S+)/.exec(this.said)?.[1];
        if (url !== undefined) resolve(url);
      });
      this.child.once('close', () => reject(new Error(`it did not start: ${this.said}`)));
    });
  }

  /** Waits for its end; answers its code and everything it said. */
  async end(signal?: NodeJS.Signals): Promise<{ readonly code: number | null; readonly said: string }> {
    const closed = once(this.child, 'close');
    if (signal !== undefined) this.child.kill(signal);
    const [code] = await closed;
    return { code, said: this.said };
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

const started: Started[] = [];
afterAll(() => {
  for (const one of started) one.kill();
});

function start(env: NodeJS.ProcessEnv): Started {
  const one = new Started(env);
  started.push(one);
  return one;
}

let folder: Awaited<ReturnType<typeof makeFolder>>;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => folder.remove());

describe('a start', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase({ empty: true });
  });
  afterAll(() => database.drop());

  it(
    'writes its keys for the owner alone, and says neither them nor what is sent to it',
    async () => {
      const dataDir = join(folder.path, 'data');
      const service = start({ DATABASE_URL: database.url, FUSEBOARD_DATA_DIR: dataDir });
      const url = await service.ready();
      expect(await readdir(dataDir)).toEqual(['keys.env']);
      expect((await stat(join(dataDir, 'keys.env'))).mode & 0o777).toBe(0o600);
      const keys = await new KeysFile(dataDir).keys(ROLES);
      expect(keys.size).toBe(ROLES.length);
      for (const key of keys.values()) {
        const agent = supertest.agent(url).set('authorization', `Bearer ${key}`);
        await agent.get('/v1/me').set('x-request-id', WORDS.requestId).expect(200);
        await agent.post('/v1/tasks').send({ title: WORDS.title, description: WORDS.description });
        await agent
          .post('/v1/tasks')
          .send({ title: key })
          .expect(({ status }) => status >= 400);
        await agent.get(`/v1/tasks/${key}?q=${WORDS.search}`).expect(400);
      }
      const { said } = await service.end('SIGTERM');
      expect(said).toContain(WORDS.requestId);
      for (const [name, key] of keys) expect(said, `the key of ${name}`).not.toContain(key);
      const { password } = new URL(database.url);
      for (const secret of [password, WORDS.title, WORDS.description, WORDS.search])
        expect(said).not.toContain(secret);
    },
    START_MS,
  );
});

describe('a start that fails', () => {
  const PASSWORD = 'zqpassword';

  /** The address of the tests' server with parts of it replaced. */
  function altered(change: (url: URL) => void): string {
    const url = new URL(urlOf(inject('serverUrl'), 'postgres'));
    url.password = PASSWORD;
    change(url);
    return url.href;
  }

  it.each([
    ['a wrong password', altered.bind(null, () => undefined)],
    ['no such machine', () => altered((url) => Object.assign(url, { hostname: 'nowhere.invalid' }))],
    ['no server there', () => altered((url) => Object.assign(url, { port: '1' }))],
    ['a percent sign that stands for nothing', () => `postgres://me:${PASSWORD}%zz@127.0.0.1:1/x`],
    ['a certificate that is not there', () => altered((url) => url.searchParams.set('sslrootcert', '/none'))],
    ['another protocol', () => `mysql://me:${PASSWORD}@127.0.0.1/x`],
  ])(
    'for %s says why without the password',
    async (_case, url) => {
      const { code, said } = await start({
        DATABASE_URL: url(),
        FUSEBOARD_DATA_DIR: join(folder.path, 'never'),
      }).end();
      expect(code).toBe(1);
      expect(said).not.toBe('');
      expect(said).not.toContain(PASSWORD);
    },
    START_MS,
  );
});
