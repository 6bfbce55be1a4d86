import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type SecondApp, startSecondApp, startTestApp, type TestApp } from '../../support/app.js';
import { audit } from '../../support/audit.js';
import { SOAK } from '../../support/soak.js';
import {
  type Copy,
  copiesOf,
  type Manner,
  manners,
  outcomeOf,
  type Sent,
  sendCopy,
  withoutSecret,
} from './copies.js';
import { REPEATS, type Repeat } from './repeats.js';
import { STORIES, type Step, type Story, type Told } from './stories.js';

/** Stories of each kind, and how many go on beside one another. */
const ROUNDS = SOAK === 1 ? 6 : 30;
const REQUESTS_MIN = SOAK === 1 ? 1_000 : 5_000;
const ABREAST = 4;
/** The usual run draws the same each time; the soak draws anew, and names its seed when it fails. */
const SEED = SOAK === 1 ? 20_261_130 : Math.floor(Math.random() * 2 ** 31);

let app: TestApp;
let other: SecondApp;
let urls: readonly string[];
beforeAll(async () => {
  app = await startTestApp();
  other = await startSecondApp(app);
  urls = [app.url, other.url];
});
afterAll(async () => {
  await other.close();
  await app.close();
});

/** The call that a step makes, as the API's description names it. */
function routeOf({ method, path }: Step): string {
  return `${method} ${path.replace(/(task|run|trip|agt|brk)_[0-9a-f-]{36}/g, '{id}')}`;
}

/** How many of these facts each request left in a log, and how many of others. */
async function factsLeft(
  requestIds: readonly string[],
  facts: readonly string[],
): Promise<Map<string, { readonly facts: number; readonly evidence: boolean }>> {
  const { rows } = await app.pool.query(
    `SELECT request_id, count(*) FILTER (WHERE type = ANY($2))::int AS facts,
        bool_and(type IN ('task.late_result', 'guard.refused')) AS evidence
      FROM events WHERE request_id = ANY($1) AND NOT (type = 'project.created' AND role = 'server') GROUP BY request_id`,
    [requestIds, facts],
  );
  return new Map(rows.map(({ request_id, ...left }) => [request_id, left]));
}

/** Sends every copy of a command, holds the answers against the log, and gives the one that did it. */
async function play(step: Step, manner: Manner, name: string): Promise<{ did: Sent; sent: Sent[] }> {
  const repeat = REPEATS[routeOf(step)];
  if (repeat === undefined) throw new Error(`${routeOf(step)} has no line in the table`);
  const distinct = JSON.stringify(step.body) !== JSON.stringify(step.instead);
  const copies = copiesOf(step, distinct ? manner : { ...manner, instead: 0 }, name);
  const sent: Sent[] = [];
  if (manner.atOnce) sent.push(...(await Promise.all(copies.map((copy) => sendCopy(urls, copy)))));
  else for (const copy of copies) sent.push(await sendCopy(urls, copy));

  const left = await factsLeft(
    sent.map(({ requestId }) => requestId),
    repeat.facts,
  );
  const effects = sent.filter(({ requestId }) => (left.get(requestId)?.facts ?? 0) > 0);
  const [did = repeat.second === 'reads' ? sent[0] : undefined] = effects;
  if (did === undefined) throw new Error(`nobody did ${routeOf(step)}: ${JSON.stringify(sent)}`);
  const story = sent.map((one) => `${one.kind} ${outcomeOf(one)}${one.replayed ? ' again' : ''}`).join(', ');
  const because = `${name}, ${routeOf(step)}, seed ${SEED}: ${story}`;
  const keyed = effects.filter(({ kind }) => kind !== 'bare');
  expect(effects.length, because).toBe(effectsWanted(repeat, copies));
  expect(keyed.length, because).toBeLessThanOrEqual(1);
  for (const one of sent) {
    const traces = left.get(one.requestId);
    // One fact for each effect; of a refusal no more than that it was one, or what came too late.
    if (effects.includes(one))
      expect([outcomeOf(one), one.replayed, traces?.facts], because).toEqual(['done', false, 1]);
    else {
      expect(traces?.evidence ?? true, because).toBe(true);
      expectRepeated(one, keyed[0] ?? null, repeat, because);
    }
  }
  return { did, sent };
}

function effectsWanted({ second }: Repeat, copies: readonly Copy[]): number {
  if (second === 'reads') return 0;
  if (second !== 'again') return 1;
  const bare = copies.filter(({ kind }) => kind === 'bare').length;
  return bare + (bare < copies.length ? 1 : 0);
}

/** What an answer says, byte by byte. */
function wordsOf({ status, replayed, etag, text }: Sent): unknown {
  return { status, replayed, etag, text };
}

/** What is said when an answer is given again. */
function again(first: Sent): unknown {
  return wordsOf({ ...first, replayed: true, text: withoutSecret(first) });
}

/** What a copy is answered that did nothing itself; `first` is the one under a key that did. */
function expectRepeated(one: Sent, first: Sent | null, { second, codes }: Repeat, because: string): void {
  const outcome = outcomeOf(one);
  if (one.kind !== 'bare' && first !== null) {
    if (one.kind !== first.kind) expect(outcome, because).toBe('idempotency_key_reused');
    else expect(wordsOf(one), because).toEqual(again(first));
    return;
  }
  expect(one.replayed, because).toBe(false);
  expect(second === 'once' ? codes : ['done', ...codes], because).toContain(outcome);
}

/** What was sent for a story, and of it what did something under a key. */
interface Played {
  readonly all: readonly Sent[];
  readonly kept: readonly Sent[];
}

/** Plays a story to its end, each command in the next manner. */
async function tell(story: Story, name: string, drawn: readonly Manner[]): Promise<Played> {
  const all: Sent[] = [];
  const kept: Sent[] = [];
  const commands = story(app, name);
  let number = 0;
  let next = await commands.next();
  while (next.done !== true) {
    const manner = drawn[number % drawn.length];
    if (manner === undefined) throw new Error('no manner was drawn');
    number += 1;
    const { did, sent } = await play(next.value, manner, `${name}-${number}`);
    all.push(...sent);
    if (did.kind !== 'bare' && REPEATS[routeOf(did.step)]?.second !== 'reads') kept.push(did);
    const told: Told = JSON.parse(did.text);
    next = await commands.next(told);
  }
  return { all, kept };
}

it('every POST and PATCH has a line in the table, and none has one that is not there', async () => {
  const { paths } = parse(await readFile(new URL('../../../openapi.yaml', import.meta.url), 'utf8'));
  const calls = Object.keys(paths).flatMap((path) =>
    ['post', 'patch']
      .filter((method) => method in paths[path])
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(Object.keys(REPEATS).sort()).toEqual(calls.sort());
});

it('each command happens once for each key, however often, in which order and to which process it is sent', async () => {
  const stories = Array.from({ length: ROUNDS * STORIES.length }, (_, n) => n);
  const drawn = fc.sample(fc.array(manners, { minLength: 16, maxLength: 16 }), {
    seed: SEED,
    numRuns: stories.length,
  });
  const played: Played[] = [];
  for (let from = 0; from < stories.length; from += ABREAST) {
    const told = stories.slice(from, from + ABREAST).map((n) => {
      const story = STORIES[n % STORIES.length];
      if (story === undefined) throw new Error('there are no stories');
      return tell(story, `story-${n}`, drawn[n] ?? []);
    });
    played.push(...(await Promise.all(told)));
  }
  const all = played.flatMap((one) => one.all);
  expect(new Set(all.map(({ step }) => routeOf(step)))).toEqual(new Set(Object.keys(REPEATS)));
  const late = await sendLate(played.flatMap(({ kept }) => kept));
  expect(await audit(app.pool)).toEqual({});
  expect(all.length + late).toBeGreaterThanOrEqual(REQUESTS_MIN);
}, 900_000);

/** Sends what was done under a key once more to each process, long after and in no order: only words come back. */
async function sendLate(kept: readonly Sent[]): Promise<number> {
  const twice = kept.flatMap((one) => [0, 1].map((desk) => ({ ...one, desk })));
  const [shuffled = []] = fc.sample(fc.shuffledSubarray(twice, { minLength: twice.length }), {
    seed: SEED,
    numRuns: 1,
  });
  const positions = async () =>
    (await app.pool.query('SELECT id, revision, position FROM projects ORDER BY id')).rows;
  const before = await positions();
  for (let from = 0; from < shuffled.length; from += 16) {
    const some = shuffled.slice(from, from + 16);
    const answers = await Promise.all(some.map((copy) => sendCopy(urls, copy)));
    expect(answers.map(wordsOf)).toEqual(some.map(again));
  }
  expect(await positions()).toEqual(before);
  return shuffled.length;
}
