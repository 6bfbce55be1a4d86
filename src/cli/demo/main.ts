import { parseArgs } from 'node:util';
import { DemoError } from './client.js';
import { type FoundBoard, ownBoard, runningBoard } from './find-board.js';
import { NIGHT_SIZE } from './night.js';
import { replay } from './replay.js';
import { liveScreen, type Output, plainScreen, type Screen } from './screen.js';
import { summaryLines } from './summary.js';

/** What the demo is started with. */
export interface DemoSetting {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly output: Output & { readonly isTTY?: boolean };
  /** What `npm start` runs, for a service of the demo's own. */
  readonly startScript: string;
  /** Ends the demo before its time. */
  readonly signal: AbortSignal;
}

const TASKS_MAX = 50;
const PACE_MAX_MS = 10_000;
/** Slow enough to look on, where somebody does. */
const WATCHED_PACE_MS = 120;

const HELP = `Usage: npm run demo -- [options]

Replays the night of the sixteen reworks: seven tasks, two executors and two reviewers, each a client of its own that
follows its rules and never stops. Plays on the service that .fuseboard/keys.env (or FUSEBOARD_URL and the keys in the
environment) names if it is running, and otherwise starts one of its own and removes it at the end.

  --tasks N   how many tasks, 1 to ${TASKS_MAX}; ${NIGHT_SIZE} unless given
  --pace MS   how long each piece of work takes, in milliseconds; 0 is as fast as it goes
  --keep      keep the service that the demo started, until Ctrl+C
  --help      this text

Limits in the environment hold for a service that the demo starts: FUSEBOARD_MAX_REWORKS=3 npm run demo
`;

interface Options {
  readonly tasks: number;
  readonly paceMs: number | null;
  readonly keep: boolean;
  readonly help: boolean;
}

/** What the arguments say. */
export function readArgs(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      tasks: { type: 'string' },
      pace: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  return {
    tasks: numberIn('--tasks', values.tasks, 1, TASKS_MAX) ?? NIGHT_SIZE,
    paceMs: numberIn('--pace', values.pace, 0, PACE_MAX_MS),
    keep: values.keep,
    help: values.help,
  };
}

function numberIn(name: string, text: string | undefined, min: number, max: number): number | null {
  if (text === undefined) return null;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < min || number > max)
    throw new DemoError(`${name} takes a whole number from ${min} to ${max}, not "${text}".`);
  return number;
}

/** Runs the demo; answers its exit code. */
export async function runDemo(setting: DemoSetting): Promise<number> {
  const { output, signal } = setting;
  try {
    const options = readArgs(setting.args);
    if (options.help) {
      output.write(HELP);
      return 0;
    }
    const watched = output.isTTY === true && !setting.env.CI;
    const screen = watched ? liveScreen(output, !setting.env.NO_COLOR) : plainScreen(output);
    const board = await boardFor(setting, screen);
    try {
      await play(board, options, options.paceMs ?? (watched ? WATCHED_PACE_MS : 0), screen, signal);
      if (signal.aborted) return 130;
      if (board.own && options.keep) {
        screen.say('', `The board stays at ${board.url}/docs until you press Ctrl+C.`);
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      }
      return 0;
    } finally {
      await board.leave();
    }
  } catch (error) {
    if (!(error instanceof DemoError) && !isUsage(error)) throw error;
    output.write(`${error.message}\n`);
    return 1;
  }
}

function isUsage(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

async function boardFor(setting: DemoSetting, screen: Screen): Promise<FoundBoard> {
  const running = await runningBoard(setting.env);
  if (running !== null) {
    screen.say(`Playing on the service at ${running.url}.`);
    return running;
  }
  screen.say('No service is running here; starting one for this demo ...');
  return ownBoard(setting.startScript, setting.env);
}

async function play(
  board: FoundBoard,
  options: Options,
  paceMs: number,
  screen: Screen,
  signal: AbortSignal,
): Promise<void> {
  screen.say(
    '',
    screen.style.bold(
      `The night again: ${options.tasks} tasks, two executors, two reviewers that reject everything`,
    ),
    '',
  );
  const ended = await replay(board, { tasks: options.tasks, paceMs, signal }, screen);
  if (signal.aborted) return;
  const gone = board.own && !options.keep;
  screen.say('', ...summaryLines({ ...ended, handOver: { keysPath: board.keysPath, gone } }, screen.style));
}
