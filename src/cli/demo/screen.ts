import type { Deed } from './agents.js';
import type { Style } from './table.js';
import { COLOURS, cell, type Moment, PLAIN, tableLines } from './table.js';

/** Where the demo writes: a terminal that can be drawn on again, or anything that takes lines. */
export interface Output {
  write(text: string): unknown;
}

/** Shows the demo to whoever looks on. */
export interface Screen {
  readonly style: Style;
  /** Says something that stays. */
  say(...lines: readonly string[]): void;
  /** The board as it is now. */
  show(moment: Moment): void;
  /** Something an agent did. */
  tell(deed: Deed, moment: Moment): void;
}

/** Draws the table in place, over and over. */
export function liveScreen(output: Output, colours: boolean): Screen {
  const style = colours ? COLOURS : PLAIN;
  let drawn = 0;
  return {
    style,
    say: (...lines) => {
      drawn = 0;
      output.write(`${lines.join('\n')}\n`);
    },
    show: (moment) => {
      const lines = tableLines(moment, style);
      const back = drawn === 0 ? '' : `\u001b[${drawn}A`;
      output.write(`${back}${lines.map((line) => `\u001b[2K${line}\n`).join('')}`);
      drawn = lines.length;
    },
    tell: () => {},
  };
}

/** Writes a line for each rejection, and the table once at the end: for logs and pipes. */
export function plainScreen(output: Output): Screen {
  const say = (...lines: readonly string[]) => void output.write(`${lines.join('\n')}\n`);
  return {
    style: PLAIN,
    say,
    show: () => {},
    tell: ({ kind, agent, title, attempt }, { seconds }) => {
      if (kind !== 'sent_back') return;
      say(`${seconds.toFixed(2).padStart(6)} s  ${cell(title, 27)} attempt ${attempt} sent back by ${agent}`);
    },
  };
}
