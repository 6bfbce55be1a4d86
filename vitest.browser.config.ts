import { defineConfig } from 'vitest/config';

/** Tests that drive a browser: apart from the others, because they need one and must not share the machine with them. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.browser.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
