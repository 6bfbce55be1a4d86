import { describe, expect, it } from 'vitest';
import type { BoardTask } from '../../src/cli/demo/client.js';
import { readArgs } from '../../src/cli/demo/main.js';
import { AT_LEAST, NIGHT_SIZE, nightTasks } from '../../src/cli/demo/night.js';
import { liveScreen, plainScreen } from '../../src/cli/demo/screen.js';
import { hasSettled, savedReworks, summaryLines } from '../../src/cli/demo/summary.js';
import { COLOURS, cell, type Moment, PLAIN, tableLines } from '../../src/cli/demo/table.js';

function someTask(change: Partial<BoardTask> = {}): BoardTask {
  return {
    id: 'task_1',
    title: 'Crawl the feed',
    state: 'rework',
    attempt: 3,
    rework_total: 3,
    limits: { max_reworks: 5 },
    block_reason: null,
    open_trip_id: null,
    ...change,
  };
}

const blocked: Partial<BoardTask> = {
  state: 'blocked',
  attempt: 5,
  rework_total: 5,
  block_reason: { kind: 'rework', reason: 'the rework limit was reached: 5 of 5' },
  open_trip_id: 'trip_1',
};

function someMoment(tasks: readonly BoardTask[]): Moment {
  return { tasks, night: nightTasks(tasks.length), seconds: 1.25, nothings: 4 };
}

describe('the night', () => {
  it('has seven tasks, three of them with the number on record', () => {
    const night = nightTasks(NIGHT_SIZE);
    expect(night.map(({ reworks }) => reworks)).toEqual([16, 14, 12, 10, 10, 10, 10]);
    expect(night.map(({ recorded }) => recorded)).toEqual([true, true, true, false, false, false, false]);
  });

  it('counts a task without a number as the least that two digits can be', () => {
    for (const { reworks, recorded } of nightTasks(NIGHT_SIZE)) if (!recorded) expect(reworks).toBe(AT_LEAST);
  });

  it('goes on with tasks that it did not have', () => {
    const more = nightTasks(9).slice(NIGHT_SIZE);
    expect(more.map(({ reworks }) => reworks)).toEqual([null, null]);
    expect(new Set(nightTasks(50).map(({ title }) => title)).size).toBe(50);
  });
});

describe('the table', () => {
  it('has one row a task, with what the night made of it', () => {
    const lines = tableLines(someMoment([someTask(), someTask({ title: 'Other', ...blocked })]), PLAIN);
    expect(lines[1]).toBe('  Crawl the feed              rework       ●●●○○ 3 of 5                 16');
    expect(lines[2]).toBe('  Other                       blocked      ●●●●● 5 of 5                 14');
    expect(lines.at(-1)).toBe('  1.3 s   8 attempts   8 sent back   asked in vain 4 times');
  });

  it('keeps its columns whatever a title is', () => {
    const long = someTask({ title: 'x'.repeat(80) });
    const [, row = ''] = tableLines(someMoment([long]), PLAIN);
    expect(row.length).toBe(tableLines(someMoment([someTask()]), PLAIN)[1]?.length);
    expect(cell('abcdef', 4)).toBe('abc…');
  });

  it('does not grow with the limit', () => {
    const [, row = ''] = tableLines(someMoment([someTask({ limits: { max_reworks: 100 } })]), PLAIN);
    expect(row).toContain('○○○○○○○○ 3 of 100');
  });

  it('is dressed only where it may be', () => {
    expect(tableLines(someMoment([someTask()]), PLAIN).join('')).not.toContain('\u001b');
    expect(tableLines(someMoment([someTask()]), COLOURS).join('')).toContain('\u001b[33m');
  });
});

describe('the screens', () => {
  it('draws a live table over the one before', () => {
    let written = '';
    const collect = (text: string) => {
      written += text;
    };
    const screen = liveScreen({ write: collect }, false);
    screen.show(someMoment([someTask()]));
    expect(written).not.toContain('A\u001b[2K');
    written = '';
    screen.show(someMoment([someTask()]));
    expect(written.startsWith('\u001b[4A')).toBe(true);
  });

  it('writes a line for each rejection where nothing can be drawn on', () => {
    let written = '';
    const collect = (text: string) => {
      written += text;
    };
    const screen = plainScreen({ write: collect });
    const moment = someMoment([someTask()]);
    screen.show(moment);
    screen.tell({ agent: 'a', kind: 'submitted', title: 'Crawl the feed', attempt: 1 }, moment);
    screen.tell({ agent: 'b', kind: 'sent_back', title: 'Crawl the feed', attempt: 1 }, moment);
    expect(written).toBe('  1.25 s  Crawl the feed              attempt 1 sent back by b\n');
  });
});

describe('the summary', () => {
  const ending = {
    tasks: [someTask({ title: 'Run the AI analysis', ...blocked }), someTask({ id: 'task_2', ...blocked })],
    night: nightTasks(2),
    afterwards: 24,
    refused: { status: 409, code: 'task_blocked', detail: 'Blocked.' },
    handOver: { keysPath: './.fuseboard/keys.env', gone: false },
  };

  it('sets that night beside now, and says what was saved', () => {
    const text = summaryLines(ending, PLAIN).join('\n');
    expect(text).toMatch(/Run the AI analysis +16 +5 {3}blocked: the rework limit was reached: 5 of 5/);
    expect(text).toMatch(/together +30 +10$/m);
    expect(text).toContain('At least 20 attempts');
    expect(text).toContain('409 task_blocked');
    expect(text).not.toContain('n+');
  });

  it('says which numbers are not on record', () => {
    const text = summaryLines(
      { ...ending, night: [...nightTasks(1), ...nightTasks(4).slice(3)] },
      PLAIN,
    ).join('\n');
    expect(text).toMatch(/together +26\+ +10$/m);
    expect(text).toContain('only that it had two digits');
  });

  it('hands over the unblock of a blocked task as a command', () => {
    const text = summaryLines(ending, PLAIN).join('\n');
    expect(text).toContain('. ./.fuseboard/keys.env');
    expect(text).toContain('"$FUSEBOARD_URL/v1/trips/trip_1"');
    expect(text).toContain('"$FUSEBOARD_URL/v1/tasks/task_2/unblock"');
    const body = /-d '(.*)'/.exec(text)?.[1] ?? '';
    expect(JSON.parse(body)).toMatchObject({ assessment: 'acceptance_too_high' });
    expect(text).not.toContain('gone');
    expect(
      summaryLines({ ...ending, handOver: { keysPath: '/tmp/x', gone: true } }, PLAIN).join('\n'),
    ).toContain('gone');
  });

  it('counts only tasks that the night had', () => {
    expect(savedReworks([someTask({ rework_total: 20 })], nightTasks(1))).toBe(-4);
    expect(savedReworks([someTask()], nightTasks(NIGHT_SIZE + 1).slice(-1))).toBe(0);
  });

  it('knows when nothing more can happen to a task', () => {
    const settled = ['blocked', 'done', 'cancelled'];
    for (const state of ['pending', 'in_progress', 'in_review', 'rework', ...settled])
      expect(hasSettled(someTask({ state }))).toBe(settled.includes(state));
  });
});

describe('the arguments', () => {
  it('are seven tasks and no pace of its own, unless given', () => {
    expect(readArgs([])).toEqual({ tasks: 7, paceMs: null, keep: false, help: false });
    expect(readArgs(['--tasks', '3', '--pace', '0', '--keep'])).toEqual({
      tasks: 3,
      paceMs: 0,
      keep: true,
      help: false,
    });
  });

  it.each([['0'], ['51'], ['three'], ['-1'], ['1.5']])('refuse --tasks=%s', (value) => {
    expect(() => readArgs([`--tasks=${value}`])).toThrow('--tasks takes a whole number from 1 to 50');
  });
});
