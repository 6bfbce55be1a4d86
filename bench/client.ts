import { Connection } from './connection.js';
import type { Job, Outcome } from './job.js';

// The client's process: takes one job after another from its parent, and answers with what came of each.

const CLAIM = JSON.stringify({ lease_seconds: 3600 });
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

function claimOnce(connection: Connection, job: Job): Promise<string> {
  return expect(connection.post('/v1/tasks/claim', job.executorKey, CLAIM));
}

async function loopOnce(connection: Connection, job: Job): Promise<void> {
  const given: Given = JSON.parse(await claimOnce(connection, job));
  const [claim] = given.claims;
  if (claim === undefined) throw new Error('a claim without a task');
  const submission = JSON.stringify({ lease_token: claim.lease_token, result: RESULT });
  await expect(connection.post(`/v1/tasks/${claim.task.id}/submit`, job.executorKey, submission));
  await expect(connection.post(`/v1/tasks/${claim.task.id}/approve`, job.reviewerKey, '{}'));
}

async function run(job: Job): Promise<Outcome> {
  const connections = await Promise.all(
    Array.from({ length: job.connections }, () => Connection.open(job.port)),
  );
  const once = job.kind === 'claims' ? claimOnce : loopOnce;
  const from = performance.now() + job.warmUpMs;
  const until = from + job.ms;
  const times: number[] = [];
  try {
    await Promise.all(
      connections.map(async (connection) => {
        for (let started = performance.now(); started < until; ) {
          await once(connection, job);
          const now = performance.now();
          if (started >= from && now <= until) times.push(now - started);
          started = now;
        }
      }),
    );
  } finally {
    for (const connection of connections) connection.close();
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
