import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child } from './child.js';
import type { Target } from './machine.js';

const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url));
const START_TIMEOUT_MS = 30_000;

/** A running product. */
export interface Product extends Target {
  readonly operatorKey: string;
  readonly plannerKey: string;
  readonly executorKey: string;
  readonly child: Child;
  /** Its data folder. */
  readonly folder: string;
  /** Sends a request as the holder of a key; answers the body of what went well. */
  post<Body>(path: string, key: string, body: object): Promise<Body>;
  stop(): Promise<void>;
}

interface ProductOptions {
  readonly databaseUrl: string;
  /** Its data folder; its log goes there too. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
}

/** The limits that would end a measurement are out of its reach; everything else is as it comes. */
const UNLIMITED = {
  FUSEBOARD_RATE_LIMIT_PER_MINUTE: '1000000000',
  FUSEBOARD_CREATE_LIMIT_PER_MINUTE: '1000000000',
  FUSEBOARD_MAX_ITERATIONS: '1000000000',
};

/** Starts the product as a process of its own, and waits until it is ready. */
export async function startProduct(options: ProductOptions): Promise<Product> {
  const { databaseUrl, folder, env, execArgv = [] } = options;
  await mkdir(folder, { recursive: true });
  const logFile = join(folder, 'service.log');
  const child = new Child('the product', MAIN, {
    env: {
      PORT: '0',
      LOG_LEVEL: 'info',
      DATABASE_URL: databaseUrl,
      FUSEBOARD_DATA_DIR: folder,
      ...UNLIMITED,
      ...env,
    },
    execArgv,
    logFile,
  });
  const file = join(folder, 'keys.env');
  for (const deadline = Date.now() + START_TIMEOUT_MS; Date.now() < deadline; await pause(50)) {
    if (child.hasEnded) throw new Error(`the product does not start:\n${await readFile(logFile, 'utf8')}`);
    const settings = await readSettings(file);
    const url = settings.get('FUSEBOARD_URL');
    if (url === undefined || !(await isReady(url))) continue;
    const keyOf = (role: string): string => settings.get(`FUSEBOARD_${role}_KEY`) ?? '';
    return {
      port: Number(new URL(url).port),
      pid: child.pid,
      workers: [{ key: keyOf('EXECUTOR') }],
      operatorKey: keyOf('OPERATOR'),
      plannerKey: keyOf('PLANNER'),
      executorKey: keyOf('EXECUTOR'),
      reviewerKey: keyOf('REVIEWER'),
      child,
      folder,
      post: (path, key, body) => post(url, path, key, body),
      stop: () => child.stop(),
    };
  }
  throw new Error('the product does not become ready');
}

async function post<Body>(url: string, path: string, key: string, body: object): Promise<Body> {
  const reply = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${path} was refused: ${text}`);
  return JSON.parse(text);
}

async function readSettings(file: string): Promise<Map<string, string>> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return new Map(
    text
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
  );
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`)).ok;
  } catch {
    return false;
  }
}
