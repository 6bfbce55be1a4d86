import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/browser/**'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'threads',
    fileParallelism: true,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
