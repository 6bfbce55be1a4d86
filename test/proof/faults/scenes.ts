import type { Command } from './client.js';
import type { Rig } from './rig.js';

/** Commands of every kind, each on a board of its own, as they are sent when nothing has gone wrong yet. */
export const SCENES = {
  'a task that is created': async ({ board }) =>
    board.command('planner', '/tasks', 'task.created', { title: 'Fetch the posts' }),
  'a task that waits for another': async ({ board }) => {
    const body = { title: 'Analyse the posts', depends_on: [await board.created()] };
    return board.command('planner', '/tasks', 'task.created', body);
  },
  'a claim': async ({ board }) => board.on('executor', await board.created(), 'claim'),
  'a usage report': async ({ board }) => {
    const { id, lease_token } = await board.claimed();
    return board.on('executor', id, 'usage', { lease_token, tokens: { input: 7 } });
  },
  'a submission': async ({ board }) => {
    const { id, lease_token } = await board.claimed();
    return board.on('executor', id, 'submit', { lease_token, result: 'posts.json' });
  },
  'a failure': async ({ board }) => {
    const { id, lease_token } = await board.claimed();
    return board.on('executor', id, 'fail', { lease_token, error: { message: 'no answer' } });
  },
  'an approval': async ({ board }) => board.on('reviewer', await board.inReview(), 'approve'),
  'a rework': async ({ board }) =>
    board.on('reviewer', await board.inReview(), 'rework', { reason: 'not yet' }),
  'a run that is made': async ({ board }) =>
    board.command('planner', '/runs', 'run.created', { name: 'a night' }),
  'an agent that is made': async ({ board, ledger }) => {
    const body = { name: `executor ${ledger.count('done')}`, roles: ['executor'] };
    return board.command('operator', '/agents', 'agent.created', body);
  },
} as const satisfies Readonly<Record<string, (rig: Rig) => Promise<Command>>>;

/** A statement whose end is the end of its transaction. */
export function commits(statement: string): boolean {
  return /^(commit|COMMIT|combined)\b/.test(statement);
}
