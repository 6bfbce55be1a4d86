import { beforeEach, expect, it } from 'vitest';
import type { Actor } from '../../../src/kernel/actor.js';
import { BELIEVED_MS, KeyCache } from '../../../src/modules/agents/key-cache.js';
import { newKey } from '../../../src/modules/agents/keys.js';

const key = newKey();
const actor: Actor = { projectId: 'p', agentId: 'a', name: 'x', roles: ['planner'], keyId: key.id };

let now: number;
let searches: string[];
let revoked: boolean;
let away: boolean;
let cache: KeyCache;

function ask<T>(answer: T): Promise<T> {
  return away ? Promise.reject(new Error('away')) : Promise.resolve(answer);
}

beforeEach(() => {
  now = 0;
  searches = [];
  revoked = false;
  away = false;
  cache = new KeyCache(
    {
      find(keyId) {
        searches.push(keyId);
        return ask(keyId === key.id ? { hash: key.hash, isRevoked: revoked, actor } : null);
      },
      live: (keyIds) => ask(new Set(revoked ? [] : keyIds)),
    },
    () => now,
  );
});

/** Lets what runs beside the requests come to its end. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

it('a key in use is answered without a promise', async () => {
  expect(await cache.find(key.token)).toBe(actor);
  expect(cache.find(key.token)).toBe(actor);
  expect(searches).toHaveLength(1);
});

it('requests that arrive together look a key up once', async () => {
  const found = await Promise.all([cache.find(key.token), cache.find(key.token), cache.find(key.token)]);
  expect(found).toEqual([actor, actor, actor]);
  expect(searches).toHaveLength(1);
});

it('a mistyped key is refused without a question', () => {
  expect(cache.find(`${key.token.slice(0, -1)}!`)).toBeNull();
  expect(cache.find(key.token.toLowerCase())).toBeNull();
  expect(searches).toHaveLength(0);
});

it('an unknown key is looked up once a second at most', async () => {
  const { token } = newKey();
  expect(await cache.find(token)).toBeNull();
  expect(cache.find(token)).toBeNull();
  now = 1_001;
  expect(await cache.find(token)).toBeNull();
  expect(searches).toHaveLength(2);
});

it('the id of a key with another secret opens nothing', async () => {
  const stranger = newKey();
  const other = new KeyCache({
    find: () => Promise.resolve({ hash: key.hash, isRevoked: false, actor }),
    live: () => Promise.resolve(new Set()),
  });
  expect(await other.find(stranger.token)).toBeNull();
});

it('a key revoked in this process is refused at once', async () => {
  await cache.find(key.token);
  revoked = true;
  cache.forget(key.id);
  expect(await cache.find(key.token)).toBeNull();
});

it('what was looked up before a revocation is not kept after it', async () => {
  const search = cache.find(key.token);
  revoked = true;
  cache.forget(key.id);
  await search;
  expect(await cache.find(key.token)).toBeNull();
});

it('a key in use that another process revoked is refused after the next look', async () => {
  await cache.find(key.token);
  revoked = true;
  now = 2_000;
  expect(cache.find(key.token)).toBe(actor);
  await settle();
  expect(await cache.find(key.token)).toBeNull();
});

it('a revoked key is never accepted longer than five seconds, even when no look succeeds', async () => {
  await cache.find(key.token);
  revoked = true;
  away = true;
  now = BELIEVED_MS - 1;
  expect(cache.find(key.token)).toBe(actor);
  await settle();
  away = false;
  now = BELIEVED_MS;
  expect(await cache.find(key.token)).toBeNull();
});

it('while the database is away known keys go on working, and then nobody is turned away for good', async () => {
  await cache.find(key.token);
  away = true;
  now = BELIEVED_MS - 1;
  expect(cache.find(key.token)).toBe(actor);
  now = BELIEVED_MS;
  await expect(cache.find(key.token)).rejects.toThrow('away');
  away = false;
  expect(await cache.find(key.token)).toBe(actor);
});

it('a key in use stays fresh without a request that waits', async () => {
  await cache.find(key.token);
  for (now = 0; now < 60_000; now += 2_000) {
    expect(cache.find(key.token)).toBe(actor);
    await settle();
  }
  expect(searches).toHaveLength(1);
});
