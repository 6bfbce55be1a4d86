import type pg from 'pg';
import { type Database, FIRST, type Group } from './database.js';
import type { Machine } from './machine.js';
import type { Product } from './product.js';
import type { Figure } from './report.js';
import { alternate, briefly, compare, type Load, type Scale, type Side, waitingFor } from './rounds.js';

// What cannot be claimed and stands before everything that can: each line compares a board with 100,000 such tasks to the same
// board without them. Each side has a database of its own, filled once, because filling takes longer than measuring.

const HEAD = 100_000;
const HEAD_QUICK = 20_000;
/** Fewer than elsewhere, because each costs a quarter of a million rows. */
const ROUNDS_MAX = 3;
const WITH = 'with';
const WITHOUT = 'without';

interface Stopped {
  readonly line: string;
  readonly what: string;
  readonly kind: Load['kind'];
  /** Stops work on some tasks by the service's own means, on both sides; answers how those tasks differ from others. */
  stop(product: Product, database: Database): Promise<NonNullable<Group['as']>>;
  /** How the tasks that are claimed differ from the template. */
  readonly claimed?: NonNullable<Group['as']>;
}

async function slowdown(
  machine: Machine,
  given: Scale,
  { line, what, kind, stop, claimed = {} }: Stopped,
): Promise<Figure[]> {
  const scale = briefly(given);
  const load: Load = { kind, connections: 32, warmUpMs: scale.warmUpMs, ms: scale.ms };
  const head = scale.quick ? HEAD_QUICK : HEAD;
  const rounds = Math.min(scale.rounds, ROUNDS_MAX);
  const sides: Side[] = [];
  const products: Product[] = [];
  for (const [name, count] of [
    [WITHOUT, 0],
    [WITH, head],
  ] as const) {
    const database = await machine.database(`${line}_${name}`);
    const product = await machine.product(database.url, LONG_COOLDOWN);
    const stopped = await stop(product, database);
    await database.fill(
      { count, as: { ...FIRST, ...stopped } },
      { count: waitingFor(load) * rounds, as: claimed },
    );
    products.push(product);
    sides.push({ name, target: product, database, isFilled: true });
  }
  const slices = await alternate(machine, sides, load, rounds);
  for (const product of products) await product.stop();
  const { one, other, ratio, spread } = compare(slices, [WITHOUT, WITH], ({ perSecond }) => perSecond);
  return [
    {
      line,
      what: `${what.replace('$', head.toLocaleString('en'))}: ${kind === 'reviews' ? 'claims of reviews' : 'claims'} without them ÷ with them`,
      product: `${other.toFixed(0)}/s`,
      beside: `${one.toFixed(0)}/s`,
      value: ratio,
      unit: 'ratio',
      spread,
      target: { atMost: 1.3 },
    },
  ];
}

/** Nothing is measured beside something that was not really stopped. */
async function expectIn(client: pg.Client, sql: string, values: unknown[], expected: string): Promise<void> {
  const { rows } = await client.query<{ state: string }>(sql, values);
  if (rows[0]?.state !== expected) throw new Error(`${rows[0]?.state} and not ${expected}: ${sql}`);
}

/** A breaker that opened stays open for as long as anything is measured. */
const LONG_COOLDOWN = { FUSEBOARD_COOLDOWN_SECONDS: '1000000' };

/** A run with a budget of one start, in which one task was started: the service has tripped it. */
async function trippedRun(product: Product, { client }: Database): Promise<string> {
  const { plannerKey, executorKey } = product;
  const run = await product.post<{ id: string }>('/v1/runs', plannerKey, {
    name: 'tripped',
    limits: { max_iterations: 1 },
  });
  const task = await product.post<{ id: string }>('/v1/tasks', plannerKey, { title: 'One', run_id: run.id });
  await product.post(`/v1/tasks/${task.id}/claim`, executorKey, {});
  const id = run.id.replace(/^run_/, '');
  await expectIn(client, 'SELECT state FROM runs WHERE id = $1', [id], 'tripped');
  return id;
}

/** Claims of all other tasks while a run that the service tripped has 100,000 before them. */
export function tripped(machine: Machine, scale: Scale): Promise<Figure[]> {
  return slowdown(machine, scale, {
    line: 'tripped',
    what: 'a tripped run with $ tasks at the head of the queue',
    kind: 'claims',
    async stop(product, database) {
      return { run_id: `'${await trippedRun(product, database)}'::uuid` };
    },
  });
}

/** As many tasks as open the fleet's breaker. */
const ALIKE = 5;

/** Two agents fail at enough tasks in the same words: the fleet's breaker opens, and no work starts in the project. */
async function openFleetBreaker(product: Product, { client }: Database): Promise<void> {
  const { operatorKey, plannerKey, executorKey } = product;
  const second = await product.post<{ api_key: string }>('/v1/agents', operatorKey, {
    name: 'second executor',
    roles: ['executor'],
  });
  for (let i = 0; i < ALIKE; i++) {
    const key = i % 2 === 0 ? executorKey : second.api_key;
    const task = await product.post<{ id: string }>('/v1/tasks', plannerKey, { title: 'One of five' });
    const held = await product.post<{ lease_token: number }>(`/v1/tasks/${task.id}/claim`, key, {});
    await product.post(`/v1/tasks/${task.id}/fail`, key, {
      lease_token: held.lease_token,
      error: { message: 'the feed does not answer' },
    });
  }
  await expectIn(client, `SELECT state FROM breakers WHERE scope = 'fleet'`, [], 'open');
}

/** Handed in once, by nobody who is asked to review. */
const HANDED_IN: NonNullable<Group['as']> = {
  state: `'in_review'`,
  queue: `'review'`,
  attempt: '1',
  lease_token: '1',
  version: '3',
};

/**
 * The fleet's breaker refuses every start of work, so there are no claims of work to compare. What must go on as fast as ever
 * beside an open breaker and the work that it holds back is what it does not stop: reviews.
 */
export function breaker(machine: Machine, scale: Scale): Promise<Figure[]> {
  return slowdown(machine, scale, {
    line: 'breaker',
    what: "the fleet's breaker open over $ tasks",
    kind: 'reviews',
    async stop(product, database) {
      await openFleetBreaker(product, database);
      return {};
    },
    claimed: HANDED_IN,
  });
}

/**
 * An agent's own breaker refuses that agent and keeps nothing from others. What it leaves behind are tasks that the agent may
 * not have again, because a `fatal` excludes it from them: a claim has to pass over each of them.
 */
export function excluded(machine: Machine, scale: Scale): Promise<Figure[]> {
  return slowdown(machine, scale, {
    line: 'excluded',
    what: 'behind $ tasks that the agent is excluded from',
    kind: 'claims',
    async stop(_product, { client }) {
      const { rows } = await client.query<{ id: string }>(`SELECT id FROM agents WHERE name = 'executor'`);
      return { memory: `jsonb_set(t.memory, '{excluded}', '["${rows[0]?.id}"]')` };
    },
  });
}
