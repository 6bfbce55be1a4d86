import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { type Fault, Link, type Struck } from './link.js';

/** Statements that the service sends by itself, or after a fault, and not for a command. */
const BESIDE = new Set([
  'SELECT 1',
  'tasks_due',
  'agents_seen',
  'api_keys_owner',
  'api_keys_live',
  'events_last_positions',
  'events_at',
  'idempotency_forget',
  'LISTEN fuseboard_offers',
  'SELECT pg_notify($1, $2)',
]);

/**
 * A network between a service and its database that breaks where a test says: connections go through here, and the
 * statements of commands are counted.
 */
export class Network {
  private readonly links = new Set<Link>();
  private fault: Fault | null = null;
  private readonly counts = new Map<string, number>();
  private struck: (struck: Struck) => void = () => undefined;
  /** Done before a statement of that name goes on: what another process would do just then. */
  overtake: ((name: string) => Promise<void>) | null = null;

  private constructor(
    private readonly server: Server,
    /** The database's address by way of it. */
    readonly url: string,
  ) {}

  static async open(databaseUrl: string): Promise<Network> {
    const target = new URL(databaseUrl);
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the network has no port');
    const url = new URL(databaseUrl);
    url.hostname = '127.0.0.1';
    url.port = String(address.port);
    const network = new Network(server, url.href);
    server.on('connection', (client) => {
      const link = new Link(client, { host: target.hostname, port: Number(target.port) }, network);
      network.links.add(link);
      void link.over.then(() => network.links.delete(link));
    });
    return network;
  }

  /** Forgets which statements have come by. Breaks the connection of the one that the fault names, when there is one. */
  arm(fault: Fault | null): Promise<Struck> {
    this.fault = fault;
    this.counts.clear();
    return new Promise((resolve) => {
      this.struck = resolve;
    });
  }

  /** What has come by since: each statement with its number among those of its name. */
  get seen(): string[] {
    return [...this.counts].flatMap(([name, count]) =>
      Array.from({ length: count }, (_, n) => `${name} ${n + 1}`),
    );
  }

  /** Asked by each connection before a statement goes on: whether it breaks here. */
  meet(name: string): Fault | null {
    if (BESIDE.has(name)) return null;
    // Which number a combination has depends on what was sent before it.
    const kind = name.replace(/^combined_\d+$/, 'combined');
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    const { fault } = this;
    if (fault?.at !== `${kind} ${count}`) return null;
    this.fault = null;
    return fault;
  }

  /** Told by a connection that it has broken. */
  strike(struck: Struck): void {
    this.struck(struck);
  }

  /** From now on nothing goes through the connections that are open, and nobody is told: as when the way to a host is lost. */
  freeze(): void {
    for (const link of this.links) link.freeze();
  }

  /** Breaks all connections. */
  cut(): void {
    for (const link of this.links) link.cut();
  }

  async close(): Promise<void> {
    this.server.close();
    this.cut();
    await once(this.server, 'close');
  }
}
