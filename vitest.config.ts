import { defineConfig } from 'vitest/config';

const usual = { pool: 'threads', testTimeout: 20_000, hookTimeout: 60_000 } as const;

/** First the rules, side by side; then the proofs, each of which keeps the machine busy by itself. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    projects: [
      {
        test: {
          ...usual,
          name: 'rules',
          include: ['test/**/*.test.ts'],
          exclude: ['test/browser/**', 'test/proof/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...usual,
          name: 'proof',
          include: ['test/proof/**/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
