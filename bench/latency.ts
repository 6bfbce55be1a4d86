import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './connection.js';
import type { Database } from './database.js';
import type { Machine } from './machine.js';
import type { Product } from './product.js';
import type { Figure } from './report.js';
import { type Load, type Scale, waitingFor } from './rounds.js';

// Lines in milliseconds: how late the service does by itself what somebody waits for. They depend on how soon the machine gives
// a process the processor, so beside them stands how late a bare timer was in this process, meanwhile.

function shareOf(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

/** How late things were, and bare timers beside them; in milliseconds. */
interface Lateness {
  readonly values: readonly number[];
  readonly timers: readonly number[];
}

const TIMER_MS = 10;

async function besideTimers(measured: Promise<readonly number[]>): Promise<Lateness> {
  const timers: number[] = [];
  let isOver = false;
  const timing = (async () => {
    while (!isOver) {
      const from = performance.now();
      await pause(TIMER_MS);
      timers.push(performance.now() - from - TIMER_MS);
    }
  })();
  const values = await measured.finally(() => {
    isOver = true;
  });
  await timing;
  return { values, timers };
}

function figureOf(line: string, what: string, { values, timers }: Lateness, atMost: number): Figure {
  const p99 = shareOf(values, 0.99);
  return {
    line,
    what: `${what}: 99 of 100`,
    product: `${p99.toFixed(1)} ms (half within ${shareOf(values, 0.5).toFixed(1)} ms)`,
    beside: `${shareOf(timers, 0.99).toFixed(1)} ms`,
    value: p99,
    unit: 'ms',
    spread: [Math.min(...values), Math.max(...values)],
    target: { atMost },
  };
}

/** Time between two claims: each lease is to have a moment of its own, as leases have. */
const BETWEEN_CLAIMS_MS = 5;
const LEASE_SECONDS = 1;
/** After the last lease has run out, until whatever is late has come. */
const PATIENCE_MS = 4_000;

/** Takes so many tasks for a second each, and is never heard of again. Answers how late each of them was taken back. */
async function abandon(product: Product, database: Database, leases: number): Promise<number[]> {
  const connection = await Connection.open(product.port);
  const terms = JSON.stringify({ lease_seconds: LEASE_SECONDS });
  for (let i = 0; i < leases; i++) {
    const { status } = await connection.post('/v1/tasks/claim', product.executorKey, terms);
    if (status !== 200) throw new Error(`a claim was answered ${status}`);
    await pause(BETWEEN_CLAIMS_MS);
  }
  connection.close();
  const late = `SELECT (extract(epoch FROM at - (data->>'lease_expires_at')::timestamptz) * 1000)::float8 AS ms
    FROM events WHERE type = 'task.lease_expired'`;
  let found: number[] = [];
  for (const until = performance.now() + LEASE_SECONDS * 1000 + PATIENCE_MS; found.length < leases; ) {
    if (performance.now() > until) throw new Error(`${leases - found.length} leases were not taken back`);
    await pause(200);
    found = (await database.client.query<{ ms: number }>(late)).rows.map(({ ms }) => ms);
  }
  return found;
}

/** How late a lease that ran out is taken back, on a board where nothing else happens and under 32 connections that loop. */
export async function leases(machine: Machine, { quick }: Scale): Promise<Figure[]> {
  const count = quick ? 100 : 500;
  const busyMs = count * BETWEEN_CLAIMS_MS + 4_000;
  const load: Load = { kind: 'loops', connections: 32, warmUpMs: 0, ms: busyMs };
  const latenessBeside = async (name: string, beside: Load | null): Promise<Lateness> => {
    const database = await machine.database(`leases_${name}`);
    const product = await machine.product(database.url);
    await database.fill({ count: count + (beside === null ? 0 : waitingFor(beside)) });
    const [lateness] = await Promise.all([
      besideTimers(abandon(product, database, count)),
      beside === null ? null : machine.load(product, beside),
    ]);
    await product.stop();
    return lateness;
  };
  const [idle, busy] = [await latenessBeside('idle', null), await latenessBeside('busy', load)];
  return [
    figureOf('leases', 'how late an expired lease is taken back, nothing else to do', idle, 50),
    figureOf('leases', 'the same beside 32 connections that loop', busy, 50),
  ];
}

/** Until a claim that found nothing certainly stands and waits. */
const STANDS_MS = 20;

/** How long after the answer to whoever created a task the answer comes to whoever waited for one. */
async function wakeTimes(waiter: Product, creator: Product, times: number): Promise<number[]> {
  const [waiting, creating] = [await Connection.open(waiter.port), await Connection.open(creator.port)];
  const found: number[] = [];
  const task = JSON.stringify({ title: 'Somebody waits for this' });
  for (let i = 0; i < times; i++) {
    const woken = waiting
      .post('/v1/tasks/claim?wait_seconds=30', waiter.executorKey, '{}')
      .then(({ status }) => ({ status, at: performance.now() }));
    await pause(STANDS_MS);
    const created = await creating.post('/v1/tasks', creator.plannerKey, task);
    const at = performance.now();
    const answer = await woken;
    if (created.status !== 201 || answer.status !== 200)
      throw new Error(`a task was answered ${created.status}, and who waited for it ${answer.status}`);
    found.push(Math.max(0, answer.at - at));
  }
  waiting.close();
  creating.close();
  return found;
}

/** How soon a waiting claim is answered once there is work: from the process it waits at, and from another. */
export async function wakes(machine: Machine, { quick }: Scale): Promise<Figure[]> {
  const times = quick ? 50 : 300;
  const database = await machine.database('wakes');
  await database.fill();
  const [here, there] = [await machine.product(database.url), await machine.product(database.url)];
  const same = await besideTimers(wakeTimes(here, here, times));
  const across = await besideTimers(wakeTimes(here, there, times));
  await Promise.all([here.stop(), there.stop()]);
  return [
    figureOf('wakes', 'how long after its creator a task reaches who waits for it', same, 25),
    figureOf('wakes', 'the same, created at another process', across, 25),
  ];
}
