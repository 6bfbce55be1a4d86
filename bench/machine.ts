import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { openEmbedded } from '../src/db/embedded.js';
import { Child, endChildren } from './child.js';
import { type Database, prepareDatabase } from './database.js';
import type { Job, Outcome, Worker } from './job.js';
import { type Product, startProduct } from './product.js';

const quiet = {
  info() {},
  warn(facts: object, message: string) {
    console.warn(message, facts);
  },
  error(facts: object, message: string) {
    console.error(message, facts);
  },
};

/** A server under load: its port and process, who works on it, and the key of who reviews. */
export interface Target {
  readonly port: number;
  readonly pid: number;
  readonly workers: readonly Worker[];
  readonly reviewerKey: string;
}

/** What a measurement runs on: a PostgreSQL of its own, the client's process, and servers as they are asked for. */
export class Machine {
  private readonly client = new Child('the client', besides('client.js'));
  private readonly opened: pg.Client[] = [];
  private products = 0;
  private isStopped = false;

  private constructor(
    readonly folder: string,
    private readonly postgres: Awaited<ReturnType<typeof openEmbedded>>,
  ) {}

  static async start(): Promise<Machine> {
    const folder = await mkdtemp(join(tmpdir(), 'fuseboard-bench-'));
    await chmod(folder, 0o755);
    // The embedded server as the product starts it: nothing of its safety is taken away.
    const postgres = await openEmbedded({ dataDir: folder, log: quiet });
    const machine = new Machine(folder, postgres);
    process.on('exit', () => {
      if (!machine.isStopped) process.kill(postgres.pid(), 'SIGQUIT');
    });
    return machine;
  }

  get postgresPid(): number {
    return this.postgres.pid();
  }

  /** A database of its own, migrated and provisioned by the product itself, with one task as a template. */
  async database(name: string): Promise<Database> {
    const admin = await this.connect(this.postgres.url);
    await admin.query(`CREATE DATABASE ${name}`);
    const url = this.postgres.url.replace(/[^/]+$/, name);
    const product = await this.product(url);
    const database = await prepareDatabase(await this.connect(url), url, product);
    await product.stop();
    return database;
  }

  /** Where something of this run may be kept until it ends. */
  folderFor(what: string): string {
    return join(this.folder, what);
  }

  product(
    databaseUrl: string,
    env: Readonly<Record<string, string>> = {},
    execArgv: readonly string[] = [],
  ): Promise<Product> {
    const folder = this.folderFor(`product-${++this.products}`);
    return startProduct({ databaseUrl, folder, env, execArgv });
  }

  async floor(databaseUrl: string): Promise<Target & { stop(): Promise<void> }> {
    const child = new Child('the floor', besides('floor.js'), { env: { DATABASE_URL: databaseUrl } });
    const { port } = await child.hear<{ port: number }>();
    return { port, pid: child.pid, workers: [{ key: '-' }], reviewerKey: '-', stop: () => child.stop() };
  }

  async load(target: Target, job: Pick<Job, 'kind' | 'connections' | 'warmUpMs' | 'ms'>): Promise<Outcome> {
    const { port, workers, reviewerKey } = target;
    const said = await this.client.hear<{ outcome: Outcome } | { error: string }>({
      ...job,
      port,
      workers,
      reviewerKey,
    });
    if ('error' in said) throw new Error(said.error);
    return said.outcome;
  }

  async stop(): Promise<void> {
    await endChildren();
    for (const client of this.opened) await client.end();
    await this.postgres.stop();
    this.isStopped = true;
    await rm(this.folder, { recursive: true, force: true });
  }

  private async connect(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    await client.connect();
    this.opened.push(client);
    return client;
  }
}

function besides(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
