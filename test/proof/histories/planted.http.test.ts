import { describe, expect, test } from 'vitest';
import { hire } from './crew.js';
import { type Fault, judge } from './judge.js';
import { type Plant, startPlanted } from './planted-services.js';
import {
  CAREFUL_SWEEPER,
  COUNT_OUTSIDE,
  EVENT_OUTSIDE,
  LOST_IDEMPOTENCY,
  READ_THEN_WRITE_CLAIM,
  TOKEN_IGNORED,
  UNFENCED_VERDICT,
} from './plants.js';
import { playHistory, type Setting } from './play.js';
import { connect } from './service.js';

const SERVICES = 2;
const AT_ONCE = 6;
/** Each fault is found within so many histories, most in one of the first six. */
const HISTORIES_MAX = 48;
const HISTORIES_SOUND = 6;
const TIMEOUT_MS = 180_000;

interface Found {
  readonly after: number;
  readonly fault: Fault;
}

/** Plays histories on services with that plant until one is found to be at fault; null when none of so many is. */
async function firstFault(plant: Plant, most: number, by?: Fault['by']): Promise<Found | null> {
  const services = await startPlanted(SERVICES, plant);
  const { aheadMs, operatorKey } = services;
  const connections = connect(services);
  try {
    // A project for each, so that whatever its lanes do at the same time is about the one task.
    const settings: Setting[] = [];
    while (settings.length < AT_ONCE)
      settings.push({
        connections,
        crew: await hire(connections[0], operatorKey),
        aheadMs,
        silent: plant.silent ?? 0,
      });
    for (let begun = 0; begun < most; begun += AT_ONCE) {
      const playing = settings.map((setting, n) => playHistory(setting, begun + n + 1));
      const histories = await Promise.all(playing);
      for (const [n, history] of histories.entries()) {
        const fault = judge(history);
        if (fault !== null && fault.by === (by ?? fault.by)) return { after: begun + n + 1, fault };
      }
    }
    return null;
  } finally {
    for (const connection of connections) connection.close();
    await services.stop();
  }
}

describe('a fault is found by the histories', () => {
  test.for([
    ['a claim that reads, then writes', READ_THEN_WRITE_CLAIM, 'history'],
    ['a verdict without a fence', UNFENCED_VERDICT, 'history'],
    ['a count outside the transaction', COUNT_OUTSIDE, 'history'],
    ['an answer that is not kept for its key', LOST_IDEMPOTENCY, 'history'],
    ['an expiry that ignores the token', TOKEN_IGNORED, 'history'],
    ['an event outside the transaction', EVENT_OUTSIDE, 'log'],
  ] as const)('%s', { timeout: TIMEOUT_MS }, async ([, plant, by], { annotate }) => {
    const found = await firstFault(plant, HISTORIES_MAX, by);
    await annotate(`found in history ${found?.after}`);
    expect(found).not.toBeNull();
  });
});

test('the same services, their leases ended by token, are at fault in nothing', {
  timeout: TIMEOUT_MS,
}, async () => {
  expect(await firstFault(CAREFUL_SWEEPER, HISTORIES_SOUND)).toBeNull();
});
