import type { BoardTask } from './client.js';
import type { NightTask } from './night.js';

/** How text is dressed up: with colours, or not at all. */
export interface Style {
  readonly red: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly green: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
}

const same = (text: string): string => text;
const dressed = (code: number) => (text: string) => `\u001b[${code}m${text}\u001b[0m`;

/** Text as it is. */
export const PLAIN: Style = { red: same, yellow: same, green: same, dim: same, bold: same };

/** Text for a terminal that shows colours. */
export const COLOURS: Style = {
  red: dressed(31),
  yellow: dressed(33),
  green: dressed(32),
  dim: dressed(2),
  bold: dressed(1),
};

/** The board at one moment. */
export interface Moment {
  readonly tasks: readonly BoardTask[];
  readonly night: readonly NightTask[];
  readonly seconds: number;
  /** How often the agents asked for something and were given nothing. */
  readonly nothings: number;
}

const TITLE_WIDTH = 27;
const STATE_WIDTH = 12;
const BAR_MAX = 8;

/** A text cut to its column, so that no row breaks over two lines. */
export function cell(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);
}

function bar(count: number, limit: number): string {
  const places = Math.min(limit, BAR_MAX);
  const full = Math.min(places, Math.round((count / limit) * places));
  return '●'.repeat(full) + '○'.repeat(places - full);
}

function colourOf(state: string, style: Style): (text: string) => string {
  if (state === 'blocked') return style.red;
  if (state === 'done') return style.green;
  return state === 'rework' ? style.yellow : style.dim;
}

/** What that night made of a task: its number, or the least it can have been. */
export function nightNumber({ reworks, recorded }: NightTask): string {
  if (reworks === null) return '–';
  return recorded ? String(reworks) : `${reworks}+`;
}

/** The table, line by line. */
export function tableLines(moment: Moment, style: Style): string[] {
  const head = `  ${cell('task', TITLE_WIDTH)} ${cell('state', STATE_WIDTH)} sent back now        that night`;
  const rows = moment.tasks.map((task, index) => {
    const limit = task.limits.max_reworks;
    const count = task.rework_total;
    const state = colourOf(task.state, style)(cell(task.state, STATE_WIDTH));
    const now = cell(`${bar(count, limit)} ${count} of ${limit}`, 20);
    const night = moment.night[index];
    return `  ${cell(task.title, TITLE_WIDTH)} ${state} ${now} ${style.dim((night === undefined ? '' : nightNumber(night)).padStart(10))}`;
  });
  const attempts = sum(moment.tasks, (task) => task.attempt);
  const reworks = sum(moment.tasks, (task) => task.rework_total);
  const foot = `  ${moment.seconds.toFixed(1)} s   ${attempts} attempts   ${reworks} sent back   asked in vain ${moment.nothings} times`;
  return [style.dim(head), ...rows, '', style.dim(foot)];
}

/** Adds up one number of each. */
export function sum<T>(items: readonly T[], number: (item: T) => number): number {
  return items.reduce((total, item) => total + number(item), 0);
}
