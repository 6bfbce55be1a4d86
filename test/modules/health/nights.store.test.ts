import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { audit } from '../../support/audit.js';
import { SOAK } from '../../support/soak.js';
import { moves, Night } from '../trips/night.js';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const NIGHTS = 8;

it('a project keeps every promise, whatever happened in it', async () => {
  await fc.assert(
    fc.asyncProperty(moves, async (history) => {
      const night = await Night.begin(app);
      await night.play(history);
      expect(await audit(app.pool, night.projectId)).toEqual({});
    }),
    SOAK > 1 ? { numRuns: NIGHTS * SOAK } : { numRuns: NIGHTS, seed: 20261130 },
  );
}, 240_000);
