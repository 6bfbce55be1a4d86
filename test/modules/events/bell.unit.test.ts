import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Bell, type Listener } from '../../../src/modules/events/bell.js';

const LONG_MS = 60_000;

let bell: Bell;
let listener: Listener;
let gone: AbortController;
beforeEach(() => {
  bell = new Bell(async () => new Map());
  listener = bell.listen('p1');
  gone = new AbortController();
});
afterEach(() => bell.close());

it('leaves nothing behind on the signal of who waits again and again', async () => {
  for (let time = 0; time < 3; time += 1) {
    const next = listener.next(LONG_MS, gone.signal);
    bell.ring('p1');
    await next;
    await listener.next(1, gone.signal);
  }
  expect(getEventListeners(gone.signal, 'abort')).toEqual([]);
});

it('lets go who hangs up while it waits', async () => {
  const next = listener.next(LONG_MS, gone.signal);
  gone.abort();
  await next;
});

it('rings for what happened between two waits', async () => {
  bell.ring('p1');
  await listener.next(LONG_MS, gone.signal);
});
