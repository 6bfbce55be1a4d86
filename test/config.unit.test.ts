import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigError, describeEnvironment, loadConfig } from '../src/config.js';

function mistakesOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

describe('the environment', () => {
  test('an empty one gives the documented defaults', () => {
    expect(loadConfig({})).toEqual({
      port: 3000,
      host: '127.0.0.1',
      dataDir: resolve('.fuseboard'),
      logLevel: 'info',
      poolSize: 8,
      batchMax: 64,
      statementTimeoutMs: 5000,
      rateLimitPerMinute: 6000,
      createLimitPerMinute: 600,
      shutdownSeconds: 10,
      limits: {
        maxReworks: 5,
        maxErrors: 3,
        maxTokens: 10_000,
        maxCostUsd: null,
        maxReviewFailures: 3,
        maxAttempts: 20,
        maxUnblocks: 3,
        reassignAfter: 3,
        maxAttemptSeconds: 21_600,
        maxIterations: 100,
        maxRunTokens: null,
        maxRunCostUsd: null,
      },
      policies: {
        fleetThreshold: 5,
        fleetWindowSeconds: 600,
        cooldownSeconds: 300,
        maxAutoRecoveries: 2,
        errorRecovery: 'auto',
      },
    });
  });

  test('every given value arrives', () => {
    const config = loadConfig({
      PORT: '0',
      HOST: '::',
      DATABASE_URL: 'postgres://someone:secret@db.example:5432/board',
      FUSEBOARD_DATA_DIR: '/var/lib/fuseboard',
      LOG_LEVEL: 'silent',
      FUSEBOARD_BATCH_MAX: '1',
      FUSEBOARD_TRUST_PROXY: '10.0.0.0/8, ::1',
      FUSEBOARD_MAX_COST_USD: '2.50',
      FUSEBOARD_MAX_RUN_TOKENS: '2000000',
      FUSEBOARD_MAX_RUN_COST_USD: 'none',
      FUSEBOARD_MAX_AUTO_RECOVERIES: '0',
    });
    expect(config).toMatchObject({
      port: 0,
      host: '::',
      databaseUrl: 'postgres://someone:secret@db.example:5432/board',
      dataDir: '/var/lib/fuseboard',
      logLevel: 'silent',
      batchMax: 1,
      trustProxy: ['10.0.0.0/8', '::1'],
      limits: { maxCostUsd: 2.5, maxRunTokens: 2_000_000, maxRunCostUsd: null },
      policies: { maxAutoRecoveries: 0 },
    });
  });

  test('an empty or blank variable counts as not set', () => {
    expect(loadConfig({ PORT: '', LOG_LEVEL: ' ', DATABASE_URL: '' })).toEqual(loadConfig({}));
  });

  test('the config is frozen to the bottom', () => {
    const config = loadConfig({ FUSEBOARD_TRUST_PROXY: '10.0.0.1' });
    expect([config, config.limits, config.policies, config.trustProxy].every(Object.isFrozen)).toBe(true);
  });
});

describe('mistakes', () => {
  test('all of them are told at once, each with its name, what was given and what is allowed', () => {
    expect(mistakesOf({ PORT: '70000', LOG_LEVEL: 'loud', FUSEBOARD_MAX_REWORK: '3' })).toEqual([
      'PORT: "70000" is not allowed; it takes a whole number from 0 to 65535; 0 takes any free port',
      'LOG_LEVEL: "loud" is not allowed; it takes one of fatal, error, warn, info, debug, trace, silent',
      'FUSEBOARD_MAX_REWORK: there is no such variable; look for a typing error, or remove it',
    ]);
  });

  test('the database URL is a secret and never shown', () => {
    const [line] = mistakesOf({ DATABASE_URL: 'mysql://someone:hunter2@db.example/board' });
    expect(line).toBe(
      'DATABASE_URL: the given value (not shown) is not allowed; it takes a URL that begins with postgres://',
    );
  });

  test.each([
    ['PORT', '80.5'],
    ['PORT', '-1'],
    ['PORT', '0x50'],
    ['HOST', 'two words'],
    ['FUSEBOARD_POOL_SIZE', '0'],
    ['FUSEBOARD_MAX_REWORKS', '0'],
    ['FUSEBOARD_MAX_TOKENS', 'none'],
    ['FUSEBOARD_MAX_COST_USD', '0'],
    ['FUSEBOARD_MAX_COST_USD', '1e3'],
    ['FUSEBOARD_MAX_RUN_TOKENS', '0'],
    ['FUSEBOARD_TRUST_PROXY', '10.0.0.0/33'],
    ['FUSEBOARD_TRUST_PROXY', 'true'],
    ['FUSEBOARD_TRUST_PROXY', '10.0.0.1,'],
  ])('%s does not take %s', (name, value) => {
    expect(mistakesOf({ [name]: value })).toHaveLength(1);
  });

  test('the variables of keys.env and of the tests are nobody’s typing error', () => {
    const env = {
      FUSEBOARD_URL: 'http://127.0.0.1:3000',
      FUSEBOARD_PLANNER_KEY: 'fb_1_2',
      FUSEBOARD_TEST_DATABASE_URL: 'x',
    };
    expect(mistakesOf(env)).toEqual([]);
  });
});

test('every variable tells what it allows, and its default is allowed', () => {
  const defaults = describeEnvironment().flatMap(({ name, fallback }) =>
    fallback === null ? [] : [[name, fallback]],
  );
  expect(loadConfig(Object.fromEntries(defaults))).toEqual(loadConfig({}));
});
