import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DemoError, isService } from './client.js';
import type { Board } from './replay.js';

/** A board to play on, where its keys are, and how to leave it. */
export interface FoundBoard extends Board {
  readonly keysPath: string;
  /** It was started for the demo. */
  readonly own: boolean;
  leave(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const LINE = /^(FUSEBOARD_[A-Z0-9_]+)=(.*)$/;
const START_MS = 120_000;
const LOOK_MS = 50;

/** The variables in a `keys.env`; none when there is no such file. */
async function readKeys(path: string): Promise<Map<string, string>> {
  try {
    const lines = (await readFile(path, 'utf8')).split('\n');
    return new Map(
      lines.flatMap((line) => {
        const [, name, value] = LINE.exec(line) ?? [];
        return name === undefined || value === undefined ? [] : [[name, value]];
      }),
    );
  } catch {
    return new Map();
  }
}

/** A service that is running already: the one that the environment names, else the one of the data folder. */
export async function runningBoard(env: Environment): Promise<FoundBoard | null> {
  const folder = env.FUSEBOARD_DATA_DIR?.trim() || '.fuseboard';
  const keysPath = folder.startsWith('/') ? join(folder, 'keys.env') : `./${join(folder, 'keys.env')}`;
  const keys = await readKeys(keysPath);
  const value = (name: string): string => env[name]?.trim() || (keys.get(name) ?? '');
  const url = value('FUSEBOARD_URL');
  const operatorKey = value('FUSEBOARD_OPERATOR_KEY');
  const plannerKey = value('FUSEBOARD_PLANNER_KEY');
  if (!URL.canParse(url) || operatorKey === '' || plannerKey === '') return null;
  if (!(await isService(url, operatorKey)) || !(await isService(url, plannerKey))) return null;
  return { url, operatorKey, plannerKey, keysPath, own: false, leave: async () => {} };
}

/** Starts a service on a free port, over a folder that goes with it. `startScript` is what `npm start` runs. */
export async function ownBoard(startScript: string, env: Environment): Promise<FoundBoard> {
  const folder = await mkdtemp(join(tmpdir(), 'fuseboard-demo-'));
  // The embedded database may run as another user, who must be able to enter.
  await chmod(folder, 0o755);
  // Limits that the environment sets hold here, too; where to listen and to keep data is ours to say.
  const { DATABASE_URL: _ours, ...others } = env;
  const child = spawn(process.execPath, [startScript], {
    env: { ...others, FUSEBOARD_DATA_DIR: folder, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'fatal' },
    stdio: ['ignore', 'ignore', 'pipe'],
    // Ctrl+C reaches the demo alone, which then stops the service in order.
    detached: true,
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'exit');
  const leave = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const keysPath = join(folder, 'keys.env');
  for (const begin = performance.now(); performance.now() - begin < START_MS; await pause(LOOK_MS)) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    const board = await runningBoard({ FUSEBOARD_DATA_DIR: folder });
    if (board !== null) return { ...board, keysPath, own: true, leave };
  }
  await leave();
  throw new DemoError(`The demo could not start a service of its own. It said:\n${said}`);
}
