import { Connection } from './connection.js';
import type { Job, Outcome, Worker } from './job.js';

// The client's process: takes one job after another from its parent, and answers with what came of each.

const LEASE = { lease_seconds: 3600 };
const REVIEW = JSON.stringify({ for: 'review', ...LEASE });
const RESULT =
  'All 50 posts are in posts.json, each of them once; the feed was read to its end and compared.';

interface Given {
  readonly claims: readonly { readonly task: { readonly id: string }; readonly lease_token: number }[];
}

async function expect(reply: ReturnType<Connection['post']>): Promise<string> {
  const { status, body } = await reply;
  if (status !== 200) throw new Error(`answered ${status}: ${body || '(nothing)'}`);
  return body;
}

/** One connection of a job, with what it sends again and again. */
interface Hand {
  readonly connection: Connection;
  readonly key: string;
  readonly claim: string;
  readonly reviewerKey: string;
}

function handOf(connection: Connection, { key, runId }: Worker, { reviewerKey }: Job): Hand {
  return { connection, key, claim: JSON.stringify({ ...LEASE, run_id: runId }), reviewerKey };
}

function claimOnce({ connection, key, claim }: Hand): Promise<string> {
  return expect(connection.post('/v1/tasks/claim', key, claim));
}

function reviewOnce({ connection, reviewerKey }: Hand): Promise<string> {
  return expect(connection.post('/v1/tasks/claim', reviewerKey, REVIEW));
}

async function loopOnce(hand: Hand): Promise<void> {
  const { connection, key, reviewerKey } = hand;
  const given: Given = JSON.parse(await claimOnce(hand));
  const [claim] = given.claims;
  if (claim === undefined) throw new Error('a claim without a task');
  const submission = JSON.stringify({ lease_token: claim.lease_token, result: RESULT });
  await expect(connection.post(`/v1/tasks/${claim.task.id}/submit`, key, submission));
  await expect(connection.post(`/v1/tasks/${claim.task.id}/approve`, reviewerKey, '{}'));
}

const ONCE = { claims: claimOnce, reviews: reviewOnce, loops: loopOnce } satisfies {
  [Kind in Job['kind']]: (hand: Hand) => Promise<unknown>;
};

async function run(job: Job): Promise<Outcome> {
  const once = ONCE[job.kind];
  const hands = await Promise.all(
    Array.from({ length: job.connections }, async (_, i) => {
      const worker = job.workers[i % job.workers.length];
      if (worker === undefined) throw new Error('a job without a worker');
      return handOf(await Connection.open(job.port), worker, job);
    }),
  );
  const from = performance.now() + job.warmUpMs;
  const until = from + job.ms;
  const times: number[] = [];
  try {
    await Promise.all(
      hands.map(async (hand) => {
        for (let started = performance.now(); started < until; ) {
          await once(hand);
          const now = performance.now();
          // However slow it was, a slice has one to tell of.
          if ((started >= from && now <= until) || (now > until && times.length === 0))
            times.push(now - started);
          started = now;
        }
      }),
    );
  } finally {
    for (const { connection } of hands) connection.close();
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? Number.NaN;
  return { done: times.length, seconds: job.ms / 1000, median: at(0.5), p99: at(0.99) };
}

process.on('message', (job: Job) => {
  run(job).then(
    (outcome) => process.send?.({ outcome }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
