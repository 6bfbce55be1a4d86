import { describe, expect, it } from 'vitest';
import { MOMENTS_MAX, timelineOf } from '../../../src/modules/trips/decide/timeline.js';
import type { LogEntry } from '../../../src/modules/trips/types.js';

function entry(position: number, type: string, facts: Partial<LogEntry> = {}): LogEntry {
  return {
    position,
    type,
    at: position,
    agentId: 'executor',
    role: 'executor',
    taskId: 'task',
    to: null,
    reason: null,
    data: { attempt: 1 },
    ...facts,
  };
}

describe('a timeline', () => {
  it('tells the reports of one attempt that follow each other as one', () => {
    const log = [
      entry(1, 'task.claimed'),
      entry(2, 'task.usage_reported'),
      entry(3, 'task.usage_reported'),
      entry(4, 'task.usage_reported', { data: { attempt: 2 } }),
      entry(5, 'task.usage_reported', { agentId: 'other', data: { attempt: 2 } }),
    ];
    const { moments, omitted } = timelineOf(log, [], 0);
    expect(moments.map(({ text }) => text)).toEqual([
      'began attempt 1',
      'reported usage 2 times',
      'reported usage once',
      'reported usage once',
    ]);
    expect(omitted).toBe(0);
  });

  it('keeps the last moments of a long log, and says how many events it leaves out', () => {
    const log = [
      entry(1, 'task.usage_reported'),
      entry(2, 'task.usage_reported'),
      ...Array.from({ length: MOMENTS_MAX }, (_, i) => entry(3 + i, 'task.claimed')),
    ];
    const { moments, omitted } = timelineOf(log, [], 40);
    expect(moments).toHaveLength(MOMENTS_MAX);
    expect(moments[0]?.at).toBe(3);
    expect(omitted).toBe(42);
  });

  it('has something to say of every event, known or not', () => {
    const { moments } = timelineOf([entry(1, 'task.something_new', { reason: 'because' })], [], 0);
    expect(moments[0]?.text).toBe('task.something_new: because');
  });
});
