import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Envelope } from '../../../src/modules/tasks/envelope.js';
import { type Due, Rescuer } from '../../../src/modules/tasks/rescuer.js';
import { PROJECT, someId } from '../../support/builders.js';
import { quietLog } from '../../support/server.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** When each look was, in milliseconds since the first, and what it found. */
function rescuerOver(leases: readonly number[], answerMs: number): { rescuer: Rescuer; looks: number[] } {
  const began = performance.now();
  const looks: number[] = [];
  const open = leases.map((at) => ({ at, due: { projectId: PROJECT, taskId: someId(), leaseToken: 1 } }));
  const rescuer = new Rescuer({
    async loadDue() {
      const now = performance.now() - began;
      looks.push(now);
      const due: Due[] = open.filter(({ at }) => at <= now).map((lease) => lease.due);
      const next = open.find(({ at }) => at > now);
      return { due, nextInMs: next === undefined ? null : next.at - now };
    },
    send: ({ command }: Envelope) =>
      new Promise((resolve) => {
        const expired = open.findIndex(({ due }) => 'taskId' in command && due.taskId === command.taskId);
        open.splice(expired, 1);
        setTimeout(() => resolve(null), answerMs);
      }),
    clock: { offsetMs: () => 0 },
    newTrace: () => ({ requestId: 'server', traceId: 'server' }),
    log: quietLog,
  });
  return { rescuer, looks };
}

describe('the next look', () => {
  it('comes when the next lease runs out, however long it takes to take back those before it', async () => {
    const { rescuer, looks } = rescuerOver([0, 30], 20);
    rescuer.start();
    await vi.advanceTimersByTimeAsync(40);
    expect(looks).toEqual([0, 30]);
    await vi.advanceTimersByTimeAsync(20);
    await rescuer.stop();
  });

  it('comes sooner for a commit that says so, counted from that commit', async () => {
    const { rescuer, looks } = rescuerOver([], 0);
    rescuer.start();
    await vi.advanceTimersByTimeAsync(100);
    rescuer.hear({ projectId: PROJECT, events: 1, offered: 0, dueAt: 1_010, now: 1_000 });
    await vi.advanceTimersByTimeAsync(10);
    expect(looks).toEqual([0, 110]);
    await rescuer.stop();
  });
});
