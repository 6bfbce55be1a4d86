import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { LIMIT_CEILINGS } from './modules/guard/limits.js';

/** The words pino knows, from the quietest that still says something to the loudest, and `silent`. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const COUNT_CEILING = 1_000_000_000;

interface About {
  readonly allowed: string;
  readonly fallback: string | null;
  readonly secret?: true;
}

const about = z.registry<About>();

function integer(min: number, max: number) {
  return z.string().regex(/^\d+$/).transform(Number).pipe(z.number().int().min(min).max(max));
}

function wholeNumber(
  fallback: number,
  min: number,
  max: number,
  allowed = `a whole number from ${min} to ${max}`,
) {
  const text = String(fallback);
  return integer(min, max).prefault(text).register(about, { allowed, fallback: text });
}

function count(fallback: number) {
  return wholeNumber(fallback, 1, COUNT_CEILING);
}

const none = z.literal('none').transform(() => null);

function tokensOrNone(max: number) {
  const allowed = `a whole number from 1 to ${max}, or none`;
  return z
    .union([none, integer(1, max)])
    .prefault('none')
    .register(about, { allowed, fallback: 'none' });
}

function costOrNone(maxMicros: number) {
  const max = maxMicros / 1_000_000;
  const allowed = `a decimal above 0 to ${max} with at most 6 places, or none`;
  const decimal = z
    .string()
    .regex(/^\d+(\.\d{1,6})?$/)
    .transform(Number)
    .pipe(z.number().positive().max(max));
  return z.union([none, decimal]).prefault('none').register(about, { allowed, fallback: 'none' });
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol);
}

const environment = z.object({
  PORT: wholeNumber(3000, 0, 65_535, 'a whole number from 0 to 65535; 0 takes any free port'),
  HOST: z
    .string()
    .regex(/^[\w.:-]+$/)
    .prefault('127.0.0.1')
    .register(about, { allowed: 'an IP address or a host name', fallback: '127.0.0.1' }),
  DATABASE_URL: z
    .string()
    .refine(isPostgresUrl)
    .optional()
    .register(about, { allowed: 'a URL that begins with postgres://', fallback: null, secret: true }),
  FUSEBOARD_DATA_DIR: z
    .string()
    .transform((path) => resolve(path))
    .prefault('.fuseboard')
    .register(about, { allowed: 'a folder, made if it is missing', fallback: '.fuseboard' }),
  LOG_LEVEL: z
    .enum(LOG_LEVELS)
    .prefault('info')
    .register(about, { allowed: `one of ${LOG_LEVELS.join(', ')}`, fallback: 'info' }),
  FUSEBOARD_POOL_SIZE: wholeNumber(8, 1, 1000),
  FUSEBOARD_BATCH_MAX: wholeNumber(64, 1, 1000, 'a whole number from 1 to 1000; 1 turns batching off'),
  FUSEBOARD_STATEMENT_TIMEOUT_MS: wholeNumber(5000, 100, 600_000),
  FUSEBOARD_RATE_LIMIT_PER_MINUTE: count(6000),
  FUSEBOARD_CREATE_LIMIT_PER_MINUTE: count(600),
  FUSEBOARD_TRUST_PROXY: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .refine((networks) => networks.every(isNetwork))
    .optional()
    .register(about, { allowed: 'IP addresses or CIDR ranges, separated by commas', fallback: null }),
  FUSEBOARD_SHUTDOWN_SECONDS: wholeNumber(10, 1, 600),
  FUSEBOARD_MAX_REWORKS: wholeNumber(5, 1, LIMIT_CEILINGS.maxReworks),
  FUSEBOARD_MAX_ERRORS: wholeNumber(3, 1, LIMIT_CEILINGS.maxErrors),
  FUSEBOARD_MAX_TOKENS: wholeNumber(10_000, 1, LIMIT_CEILINGS.maxTokens),
  FUSEBOARD_MAX_COST_USD: costOrNone(LIMIT_CEILINGS.maxCostMicros),
  FUSEBOARD_MAX_REVIEW_FAILURES: wholeNumber(3, 1, LIMIT_CEILINGS.maxReviewFailures),
  FUSEBOARD_MAX_ATTEMPTS: wholeNumber(20, 1, LIMIT_CEILINGS.maxAttempts),
  FUSEBOARD_MAX_UNBLOCKS: wholeNumber(3, 1, LIMIT_CEILINGS.maxUnblocks),
  FUSEBOARD_REASSIGN_AFTER: wholeNumber(3, 1, LIMIT_CEILINGS.reassignAfter),
  FUSEBOARD_MAX_ATTEMPT_SECONDS: wholeNumber(21_600, 1, LIMIT_CEILINGS.maxAttemptSeconds),
  FUSEBOARD_MAX_ITERATIONS: wholeNumber(100, 1, LIMIT_CEILINGS.maxIterations),
  FUSEBOARD_MAX_RUN_TOKENS: tokensOrNone(LIMIT_CEILINGS.maxRunTokens),
  FUSEBOARD_MAX_RUN_COST_USD: costOrNone(LIMIT_CEILINGS.maxRunCostMicros),
  FUSEBOARD_FLEET_THRESHOLD: count(5),
  FUSEBOARD_FLEET_WINDOW_SECONDS: count(600),
  FUSEBOARD_COOLDOWN_SECONDS: count(300),
  FUSEBOARD_MAX_AUTO_RECOVERIES: wholeNumber(2, 0, COUNT_CEILING),
  FUSEBOARD_ERROR_RECOVERY: z
    .enum(['auto', 'manual'])
    .default('auto')
    .register(about, { allowed: 'auto or manual', fallback: 'auto' }),
});

/** Read from the same environment by clients and by the tests: not ours, and not a typing error either. */
const OF_OTHERS = /^FUSEBOARD_(URL|[A-Z0-9_]+_KEY|TEST_[A-Z0-9_]+)$/;

function shapeConfig(env: z.output<typeof environment>) {
  return {
    port: env.PORT,
    host: env.HOST,
    ...(env.DATABASE_URL !== undefined && { databaseUrl: env.DATABASE_URL }),
    dataDir: env.FUSEBOARD_DATA_DIR,
    logLevel: env.LOG_LEVEL,
    poolSize: env.FUSEBOARD_POOL_SIZE,
    batchMax: env.FUSEBOARD_BATCH_MAX,
    statementTimeoutMs: env.FUSEBOARD_STATEMENT_TIMEOUT_MS,
    rateLimitPerMinute: env.FUSEBOARD_RATE_LIMIT_PER_MINUTE,
    createLimitPerMinute: env.FUSEBOARD_CREATE_LIMIT_PER_MINUTE,
    ...(env.FUSEBOARD_TRUST_PROXY !== undefined && { trustProxy: env.FUSEBOARD_TRUST_PROXY }),
    shutdownSeconds: env.FUSEBOARD_SHUTDOWN_SECONDS,
    limits: {
      maxReworks: env.FUSEBOARD_MAX_REWORKS,
      maxErrors: env.FUSEBOARD_MAX_ERRORS,
      maxTokens: env.FUSEBOARD_MAX_TOKENS,
      maxCostUsd: env.FUSEBOARD_MAX_COST_USD,
      maxReviewFailures: env.FUSEBOARD_MAX_REVIEW_FAILURES,
      maxAttempts: env.FUSEBOARD_MAX_ATTEMPTS,
      maxUnblocks: env.FUSEBOARD_MAX_UNBLOCKS,
      reassignAfter: env.FUSEBOARD_REASSIGN_AFTER,
      maxAttemptSeconds: env.FUSEBOARD_MAX_ATTEMPT_SECONDS,
      maxIterations: env.FUSEBOARD_MAX_ITERATIONS,
      maxRunTokens: env.FUSEBOARD_MAX_RUN_TOKENS,
      maxRunCostUsd: env.FUSEBOARD_MAX_RUN_COST_USD,
    },
    policies: {
      fleetThreshold: env.FUSEBOARD_FLEET_THRESHOLD,
      fleetWindowSeconds: env.FUSEBOARD_FLEET_WINDOW_SECONDS,
      cooldownSeconds: env.FUSEBOARD_COOLDOWN_SECONDS,
      maxAutoRecoveries: env.FUSEBOARD_MAX_AUTO_RECOVERIES,
      errorRecovery: env.FUSEBOARD_ERROR_RECOVERY,
    },
  };
}

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** What the environment says, checked and frozen. */
export type Config = DeepReadonly<{
  port: number;
  host: string;
  databaseUrl?: string;
  dataDir: string;
  logLevel: (typeof LOG_LEVELS)[number];
  poolSize: number;
  batchMax: number;
  statementTimeoutMs: number;
  rateLimitPerMinute: number;
  createLimitPerMinute: number;
  trustProxy?: string[];
  shutdownSeconds: number;
  limits: {
    maxReworks: number;
    maxErrors: number;
    maxTokens: number;
    maxCostUsd: number | null;
    maxReviewFailures: number;
    maxAttempts: number;
    maxUnblocks: number;
    reassignAfter: number;
    maxAttemptSeconds: number;
    maxIterations: number;
    maxRunTokens: number | null;
    maxRunCostUsd: number | null;
  };
  policies: {
    fleetThreshold: number;
    fleetWindowSeconds: number;
    cooldownSeconds: number;
    maxAutoRecoveries: number;
    errorRecovery: 'auto' | 'manual';
  };
}>;

/** The environment has mistakes; the message has one line for each of them. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(`The environment has ${mistakes.length === 1 ? 'a mistake' : 'mistakes'}:\n${mistakes.join('\n')}`);
    this.mistakes = mistakes;
  }
}

/** One variable of the environment, for the reference page and for the messages. */
export interface EnvironmentVariable extends About {
  readonly name: string;
}

/** Every variable the service reads: what it allows, and what it is when it is not set. */
export function describeEnvironment(): EnvironmentVariable[] {
  return Object.entries(environment.shape).map(([name, schema]) => {
    const said = about.get(schema);
    if (said === undefined) throw new Error(`${name} says nothing about itself`);
    return { name, ...said };
  });
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}

/** Reads the environment, and throws one `ConfigError` that lists every mistake in it. */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  // Compose files and CI pass variables that are not set as empty ones.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
  const parsed = environment.safeParse(given);
  const wrong = new Set(parsed.success ? [] : parsed.error.issues.map((issue) => issue.path[0]));
  const variables = describeEnvironment();
  const known = new Set(variables.map(({ name }) => name));
  const mistakes = [
    ...variables
      .filter(({ name }) => wrong.has(name))
      .map(({ name, allowed, secret }) => {
        const value = secret ? 'the given value (not shown)' : JSON.stringify(given[name]);
        return `${name}: ${value} is not allowed; it takes ${allowed}`;
      }),
    ...Object.keys(given)
      .filter((name) => name.startsWith('FUSEBOARD_') && !known.has(name) && !OF_OTHERS.test(name))
      .sort()
      .map((name) => `${name}: there is no such variable; look for a typing error, or remove it`),
  ];
  if (!parsed.success || mistakes.length > 0) throw new ConfigError(mistakes);
  return deepFreeze(shapeConfig(parsed.data));
}
