import type { BoardTask, Refused } from './client.js';
import { AT_LEAST, type NightTask } from './night.js';
import { cell, nightNumber, type Style, sum } from './table.js';

/** Where somebody goes on by hand after the demo. */
export interface HandOver {
  /** The file to read the address and the keys from, as one would type it. */
  readonly keysPath: string;
  /** The board goes with the demo. */
  readonly gone: boolean;
}

/** Everything the summary speaks of. */
export interface Ending {
  readonly tasks: readonly BoardTask[];
  readonly night: readonly NightTask[];
  /** How often the agents asked after the last task had stopped. */
  readonly afterwards: number;
  /** What an agent hears that insists on a blocked task. */
  readonly refused: Refused | null;
  readonly handOver: HandOver;
}

const TITLE_WIDTH = 27;

/** What is no open state: nothing more can happen to the task without somebody's decision. */
export function hasSettled({ state }: BoardTask): boolean {
  return state === 'blocked' || state === 'done' || state === 'cancelled';
}

/** What was saved, over the tasks that the night had: reworks of that night less reworks now. */
export function savedReworks(tasks: readonly BoardTask[], night: readonly NightTask[]): number {
  return sum(tasks, (task) => {
    const then = night[tasks.indexOf(task)]?.reworks ?? null;
    return then === null ? 0 : then - task.rework_total;
  });
}

/** The end of the demo, line by line. */
export function summaryLines(ending: Ending, style: Style): string[] {
  return [...comparison(ending, style), '', ...verdict(ending, style), '', ...nextStep(ending, style)];
}

function comparison({ tasks, night }: Ending, style: Style): string[] {
  const row = (title: string, then: string, now: string, why: string): string =>
    `  ${cell(title, TITLE_WIDTH)} ${then.padStart(10)} ${now.padStart(6)}   ${why}`.trimEnd();
  const rows = tasks.map((task, index) => {
    const that = night[index];
    const why = task.block_reason === null ? task.state : `${task.state}: ${task.block_reason.reason}`;
    return row(task.title, that === undefined ? '' : nightNumber(that), String(task.rework_total), why);
  });
  const then = sum(night, ({ reworks }) => reworks ?? 0);
  const exact = night.every(({ reworks, recorded }) => reworks === null || recorded);
  const now = sum(tasks, (task) => task.rework_total);
  return [
    style.bold('How often each task was sent back'),
    '',
    style.dim(row('', 'that night', 'now', '')),
    ...rows,
    style.bold(row('together', exact ? String(then) : `${then}+`, String(now), '')),
    ...(exact
      ? []
      : [
          '',
          style.dim(
            `  n+  The record gives no number for this task, only that it had two digits. Counted as ${AT_LEAST}, the least`,
          ),
          style.dim('      that can be; what these tasks were about is made up.'),
        ]),
  ];
}

function verdict({ tasks, night, afterwards, refused }: Ending, style: Style): string[] {
  const saved = savedReworks(tasks, night);
  const blocked = tasks.filter((task) => task.state === 'blocked').length;
  return [
    style.bold(
      saved > 0
        ? `At least ${saved} attempts and as many rejections did not happen.`
        : 'These limits would not have ended the night any sooner.',
    ),
    `${blocked} of ${tasks.length} tasks are blocked. The agents were not told to stop: they went on asking, ${afterwards} more times,`,
    'and were given nothing. One that insists on a blocked task hears:',
    ...(refused === null ? [] : ['', `  ${refused.status} ${refused.code}`, `  ${refused.detail}`]),
  ];
}

function nextStep({ tasks, night, handOver }: Ending, style: Style): string[] {
  const index = tasks.findIndex((task) => task.state === 'blocked');
  const task = tasks[index];
  if (task === undefined) return ['No task is blocked, so there is nothing to lift.'];
  const crawl = tasks.findIndex(({ title, state }) => title === 'Crawl the feed' && state === 'blocked');
  const chosen = tasks[crawl] ?? task;
  const body =
    crawl === -1
      ? { reason: `The criterion cannot be met: ${night[index]?.complaint ?? 'see its attempts'}` }
      : {
          reason: 'The feed never gives more than 20 posts',
          assessment: 'acceptance_too_high',
          changes: { acceptance: ['20 posts are stored', 'no post is stored twice'] },
        };
  const report = [
    `  . ${handOver.keysPath}`,
    `  curl -s "$FUSEBOARD_URL/v1/trips/${chosen.open_trip_id}" -H 'Accept: text/markdown' \\`,
    '    -H "Authorization: Bearer $FUSEBOARD_PLANNER_KEY"',
  ];
  return [
    style.bold(`Next, a planner looks at what stopped "${chosen.title}":`),
    '',
    ...report,
    '',
    style.bold('and decides. To change what it asks for, and to lift its block:'),
    '',
    `  curl -s -X POST "$FUSEBOARD_URL/v1/tasks/${chosen.id}/unblock" \\`,
    `    -H "Authorization: Bearer $FUSEBOARD_PLANNER_KEY" -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(body)}'`,
    ...(handOver.gone
      ? [
          '',
          'The board of this demo is gone with it. To have one that stays, run "npm run demo -- --keep", or',
          '"npm start" in another terminal first.',
        ]
      : []),
  ];
}
