import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { prepareAndBuild } from '../../../scripts/prepare.mjs';
import { withLock } from '../../../src/db/transaction.js';
import type { Role } from '../../../src/kernel/actor.js';
import { until } from './until.js';

const WITH_PARENT = new URL('with-parent.mjs', import.meta.url).href;
const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
/** Any number: test files that run side by side build one after another, and all but the first find it done. */
const BUILD_LOCK = '7104418525520366';

/** The limits that a load meets and a test is not about. */
const UNLIMITED = {
  FUSEBOARD_RATE_LIMIT_PER_MINUTE: '1000000000',
  FUSEBOARD_CREATE_LIMIT_PER_MINUTE: '1000000000',
  FUSEBOARD_MAX_ITERATIONS: '1000000000',
  FUSEBOARD_FLEET_THRESHOLD: '1000000',
};

export interface ServiceOptions {
  /** Where its keys and its log are, and its database unless `env` names another. */
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
}

const running = new Set<ChildProcess>();

/** The service as it is run: a process of its own, which can be killed and started again. */
export class Service {
  private child: ChildProcess | null = null;
  private settings: ReadonlyMap<string, string> = new Map();
  private port = '0';

  private constructor(private readonly options: ServiceOptions) {}

  /** Starts it, and waits until it is ready. */
  static async start(options: ServiceOptions): Promise<Service> {
    await withLock(inject('serverUrl'), BUILD_LOCK, async () => prepareAndBuild());
    const service = new Service(options);
    service.spawn();
    await service.ready();
    return service;
  }

  /** Its address, the same after each restart. */
  get url(): string {
    return this.settings.get('FUSEBOARD_URL') ?? '';
  }

  key(role: Role): string {
    return this.settings.get(`FUSEBOARD_${role.toUpperCase()}_KEY`) ?? '';
  }

  get logFile(): string {
    return join(this.options.folder, 'service.log');
  }

  /** Starts the process without waiting for anything. */
  spawn(): void {
    const { folder, env, execArgv = [] } = this.options;
    const log = openSync(this.logFile, 'a');
    const { PATH = '' } = process.env;
    this.child = fork(MAIN, [], {
      env: {
        PATH,
        PORT: this.port,
        LOG_LEVEL: 'warn',
        FUSEBOARD_DATA_DIR: folder,
        ...UNLIMITED,
        ...env,
      },
      execArgv: ['--import', WITH_PARENT, ...execArgv],
      stdio: ['ignore', log, log, 'ipc'],
    });
    const { child } = this;
    running.add(child);
    child.once('exit', () => running.delete(child));
  }

  /** Resolves when it answers that it is ready. */
  async ready(): Promise<void> {
    const file = join(this.options.folder, 'keys.env');
    await until('the service is ready', async () => {
      if (this.child === null || !running.has(this.child))
        throw new Error(`the service ended:\n${await readFile(this.logFile, 'utf8')}`);
      this.settings = await readSettings(file);
      return this.url !== '' && (await isReady(this.url));
    });
    this.port = new URL(this.url).port;
  }

  /** Asks what was loaded beside it. */
  async ask(question: object): Promise<unknown> {
    const { child } = this;
    if (child === null) throw new Error('the service was not started');
    const answered = once(child, 'message');
    child.send(question);
    const [answer] = await answered;
    return answer;
  }

  /** `kill -9`: it has no time for anything. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Ends it in order. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === null || !running.has(child)) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
}

async function readSettings(file: string): Promise<Map<string, string>> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line.includes('='));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}
