import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { DatabaseLog } from './log.js';

const CHANNEL = 'fuseboard_offers';
/** Announcements within this time go together: a notification in each commit would halve the speed of commits. */
const GATHER_MS = 5;
const RECONNECT_MS = 1_000;
const SILENCE_MS = 3_000;
/** The most projects in one announcement: a payload may be 8,000 bytes. */
const PROJECTS_MAX = 150;

/** What other processes are told, and what is heard of them. */
export interface NotifierDeps {
  readonly databaseUrl: string;
  readonly log: DatabaseLog;
  /** Another process has made work claimable in this project. */
  readonly onHeard: (projectId: string) => void;
}

/**
 * Tells the processes on one database that there is work. A hint, no more: one that is lost costs a waiting claim its next look
 * a few seconds later. Speaks and listens over one connection of its own, outside every transaction that counts.
 */
export class Notifier {
  private readonly me = randomUUID();
  private readonly pending = new Set<string>();
  private client: pg.Client | null = null;
  private gathering: NodeJS.Timeout | null = null;
  private reconnecting: NodeJS.Timeout | null = null;
  private stopped = true;

  constructor(private readonly deps: NotifierDeps) {}

  /** Begins to listen; a database that is away is asked again each second. */
  async start(): Promise<void> {
    this.stopped = false;
    await this.connect();
  }

  /** Stops listening; what was about to be announced is not. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const timer of [this.gathering, this.reconnecting]) if (timer !== null) clearTimeout(timer);
    const { client } = this;
    this.client = null;
    await client?.end();
  }

  /** There is work in this project. */
  announce(projectId: string): void {
    if (this.client === null) return;
    this.pending.add(projectId);
    this.gathering ??= setTimeout(() => this.speak(), GATHER_MS);
  }

  private async connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.deps.databaseUrl,
      connectionTimeoutMillis: 5_000,
      application_name: 'fuseboard-notifier',
      // A hint need not outlive the server: without this each one would be a write to the disk that commits wait behind.
      options: '-c synchronous_commit=off',
      keepAlive: true,
      query_timeout: SILENCE_MS,
    });
    const lost = (error?: Error): void => this.lost(client, error);
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', ({ payload }) => this.hear(payload ?? ''));
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      if (this.stopped) await client.end();
      else this.client = client;
    } catch (error) {
      this.lost(client, error);
    }
  }

  private lost(client: pg.Client, error: unknown): void {
    if (this.client === client) this.client = null;
    if (this.stopped || this.client !== null || this.reconnecting !== null) return;
    this.deps.log.warn({ err: error }, 'other processes cannot be heard; listening again soon');
    this.reconnecting = setTimeout(() => {
      this.reconnecting = null;
      void this.connect();
    }, RECONNECT_MS);
  }

  private speak(): void {
    this.gathering = null;
    const projects = [...this.pending].slice(0, PROJECTS_MAX);
    for (const id of projects) this.pending.delete(id);
    if (this.pending.size > 0) this.gathering = setTimeout(() => this.speak(), GATHER_MS);
    const { client } = this;
    client
      ?.query('SELECT pg_notify($1, $2)', [CHANNEL, [this.me, ...projects].join(' ')])
      .catch((error: unknown) => {
        this.deps.log.warn({ err: error }, 'other processes could not be told of work');
        // A connection that has died without a word would hear nothing either: it ends, and another one begins.
        void client.end();
      });
  }

  private hear(payload: string): void {
    const [speaker, ...projects] = payload.split(' ');
    if (speaker === this.me) return;
    for (const projectId of projects) this.deps.onHeard(projectId);
  }
}
