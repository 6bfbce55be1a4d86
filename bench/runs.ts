import type { Worker } from './job.js';
import type { Machine, Target } from './machine.js';
import type { Product } from './product.js';
import type { Figure } from './report.js';
import { alternate, briefly, compare, type Load, type Scale, type Side } from './rounds.js';

const AGENTS = 32;
const ONE = 'one run';
const EACH = 'a run each';

/** So many executors, each with a key of its own, and a run for each of them. */
async function staff(product: Product): Promise<{ keys: string[]; runIds: string[] }> {
  const { operatorKey, plannerKey } = product;
  const keys: string[] = [];
  const runIds: string[] = [];
  for (let n = 1; n <= AGENTS; n++) {
    const name = `worker ${n}`;
    const agent = await product.post<{ api_key: string }>('/v1/agents', operatorKey, {
      name,
      roles: ['executor'],
    });
    const run = await product.post<{ id: string }>('/v1/runs', plannerKey, { name });
    keys.push(agent.api_key);
    runIds.push(run.id.replace(/^run_/, ''));
  }
  return { keys, runIds };
}

/** 32 agents that all work in one run, whose counters every command of theirs moves, and the same agents in a run each. */
export async function sharedRun(machine: Machine, scale: Scale): Promise<Figure[]> {
  const database = await machine.database('shared_run');
  const product = await machine.product(database.url);
  const { keys, runIds } = await staff(product);
  const workingIn = (runs: readonly string[]): Target => {
    const workers = keys.map((key, n): Worker => ({ key, runId: `run_${runs[n % runs.length]}` }));
    return { ...product, workers };
  };
  const sideOf = (name: string, runs: readonly string[]): Side => ({
    name,
    target: workingIn(runs),
    database,
    board: (count) => [
      { count, as: { run_id: `(ARRAY[${runs.map((id) => `'${id}'`)}]::uuid[])[1 + n % ${runs.length}]` } },
    ],
  });
  const { warmUpMs, ms, rounds } = briefly(scale);
  const load: Load = { kind: 'loops', connections: AGENTS, warmUpMs, ms };
  const slices = await alternate(
    machine,
    [sideOf(ONE, runIds.slice(0, 1)), sideOf(EACH, runIds)],
    load,
    rounds,
  );
  await product.stop();
  const { one, other, ratio, spread } = compare(slices, [ONE, EACH], ({ perSecond }) => perSecond);
  return [
    {
      line: 'run',
      what: `loops of ${AGENTS} agents in one run ÷ in a run each`,
      product: `${one.toFixed(0)}/s`,
      beside: `${other.toFixed(0)}/s`,
      value: ratio,
      unit: 'ratio',
      spread,
      target: { atLeast: 0.8 },
    },
  ];
}
