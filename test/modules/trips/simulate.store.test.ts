import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { moves, Night } from './night.js';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const never = new AbortController().signal;

/** The trips of tasks and runs as the log has them. */
async function tripsOf(projectId: string): Promise<object[]> {
  const { rows } = await app.pool.query(
    `SELECT task_id, run_id, at, data FROM events WHERE project_id = $1 AND type = 'trip.opened' AND data->>'scope' IN ('task', 'run') ORDER BY position`,
    [projectId],
  );
  return rows.map(({ task_id, run_id, at, data: { kind, value, limit } }) => ({
    ...(task_id === null ? { run_id: `run_${run_id}` } : { task_id: `task_${task_id}` }),
    kind,
    at: at.toISOString(),
    value,
    limit,
  }));
}

describe('a simulation under the limits that were in force', () => {
  it('stops exactly where the guard did, and saves nothing, whatever happened', async () => {
    await fc.assert(
      fc.asyncProperty(moves, async (history) => {
        const night = await Night.begin(app);
        await night.play(history);
        const result = await app.deps.simulator.run(night.projectId, { limits: {}, since: 0 }, never);
        if (!result.ok) throw new Error(result.refusal.detail);
        const trips = await tripsOf(night.projectId);
        expect(result.value.stopped).toEqual(trips);
        expect(result.value.saved).toEqual({ iterations: 0, reworks: 0, tokens: 0, cost_usd: 0 });
      }),
      // The same histories each time, so that a change is judged by itself; `npm run test:soak` draws new ones.
      process.env.FUSEBOARD_TEST_SOAK === '1'
        ? { numRuns: 200, endOnFailure: true }
        : { numRuns: 20, endOnFailure: true, seed: 20261130 },
    );
  }, 120_000);
});
