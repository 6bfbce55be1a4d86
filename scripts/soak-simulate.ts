import { Proposal } from '../src/modules/trips/decide/propose.js';
import type { ReplayEvent } from '../src/modules/trips/decide/replay.js';
import { Simulation } from '../src/modules/trips/decide/simulate.js';

/**
 * Replays a million events of a busy board and watches the memory: it must not grow with the log, only with what is
 * unfinished. `tsx --expose-gc scripts/soak-simulate.ts [events]`.
 */
const EVENTS = Number(process.argv[2] ?? 1_000_000);
/** How many tasks are under way at once, and how often each is sent back before it is done. */
const UNDER_WAY = 1_000;
const LAPS = 4;
const REPORT_EVERY = 200_000;
const MEGABYTE = 2 ** 20;

const limits = {
  maxReworks: 5,
  maxErrors: 3,
  maxTokens: 10_000,
  maxCostMicros: null,
  maxReviewFailures: 3,
  maxAttempts: 20,
  maxUnblocks: 3,
  reassignAfter: 3,
  maxAttemptSeconds: 21_600,
  maxIterations: 1_000_000,
  maxRunTokens: null,
  maxRunCostMicros: null,
};

function id(n: number): string {
  return `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
}

function* log(): Generator<ReplayEvent> {
  const base = { at: 1, runId: id(1), agentId: id(2), command: 'x', to: null, counters: null, data: {} };
  yield { ...base, type: 'run.created', taskId: null };
  for (let first = 0; ; first += UNDER_WAY) {
    const tasks = Array.from({ length: UNDER_WAY }, (_, i) => id(10 + first + i));
    for (const taskId of tasks) yield { ...base, type: 'task.created', taskId, to: 'pending', counters: {} };
    for (let lap = 1; lap <= LAPS; lap += 1) {
      for (const taskId of tasks) {
        const counters = {
          attempt: lap,
          attempts_since_unblock: lap,
          rework_count: lap - 1,
          tokens_used: lap * 900,
        };
        const usage = {
          tokens: { input: 900, output: 0, cache_read: 0, cache_write: 0 },
          cost_usd: 0,
          iterations: 0,
        };
        yield { ...base, type: 'task.claimed', taskId, to: 'in_progress', counters, data: { attempt: lap } };
        yield {
          ...base,
          type: 'task.submitted',
          taskId,
          to: 'in_review',
          counters,
          data: { attempt: lap, usage },
        };
        const sentBack = { ...counters, rework_count: lap };
        yield lap < LAPS
          ? {
              ...base,
              type: 'task.rework_requested',
              taskId,
              to: 'rework',
              counters: sentBack,
              data: { attempt: lap },
            }
          : { ...base, type: 'task.approved', taskId, to: 'done', counters, data: { attempt: lap } };
      }
    }
  }
}

function run(name: string, reader: { take(event: ReplayEvent): void }): void {
  const begun = performance.now();
  let taken = 0;
  for (const event of log()) {
    reader.take(event);
    taken += 1;
    if (taken % REPORT_EVERY === 0) {
      globalThis.gc?.();
      const heap = Math.round(process.memoryUsage().heapUsed / MEGABYTE);
      console.log(`${name}: ${taken} events, ${Math.round(performance.now() - begun)} ms, heap ${heap} MB`);
    }
    if (taken >= EVENTS) return;
  }
}

run('the limits in force', new Simulation({ server: limits, limits: {}, since: 0 }));
run('tighter limits', new Simulation({ server: limits, limits: { maxReworks: 2 }, since: 0 }));
run('a proposal', new Proposal(0));
