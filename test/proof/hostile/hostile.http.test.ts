import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { audit } from '../../support/audit.js';
import { Play } from '../../support/play.js';
import { SOAK } from '../../support/soak.js';
import { OPERATIONS } from './contract.js';
import { Foreign } from './foreign.js';
import { Living } from './living.js';
import { almostValidRequest } from './mutations.js';
import { concrete } from './resolve.js';
import { Tally } from './tally.js';
import { KINDS, type Kind, type Template } from './template.js';
import { type Twist, twists } from './twists.js';
import { validRequest } from './values.js';
import { type Exchange, faultsOf } from './verdict.js';
import { asCommand, Lane, type RawRequest } from './wire.js';

const REQUESTS = SOAK === 1 ? 3_600 : 20_000;
/** So many at once: they meet in the batches of the server. */
const LANES = 5;
/** After so many the board gets something new to attack. */
const BED = 200;
/** Of the faults found, so many are told. */
const SHOWN = 20;
const TIMEOUT_MS = 300_000 * SOAK;
const SEED = Number(process.env.FUSEBOARD_TEST_SEED ?? 20_261_201);

interface Drawn {
  readonly kind: Kind;
  readonly template: Template;
  readonly twists: readonly Twist[];
}

function drawnAs(kind: Kind): fc.Arbitrary<Drawn> {
  const made = kind === 'almost valid' ? almostValidRequest : validRequest;
  return fc.record({
    kind: fc.constant(kind),
    // What takes a body can be attacked in more ways.
    template: fc.oneof(
      ...OPERATIONS.map((operation) => ({
        weight: operation.body === null ? 1 : 2,
        arbitrary: made(operation),
      })),
    ),
    twists: kind === 'wild' ? twists : fc.constant([]),
  });
}

const drawn = fc.oneof(...KINDS.map(drawnAs));

let app: TestApp;
let living: Living;
let foreign: Foreign;
let lanes: Lane[];
const tally = new Tally();

beforeAll(async () => {
  app = await startTestApp();
  foreign = await Foreign.begin(app);
  living = await Living.begin(app, foreign.board);
  lanes = Array.from({ length: LANES }, () => new Lane(Number(new URL(app.url).port)));
});
afterAll(async () => {
  for (const lane of lanes) lane.close();
  living.close();
  await app.close();
});

const WAITS = /wait_seconds=[1-9]|\/events\/stream/;

/** What may wait is left alone after a moment. */
function bounded(request: RawRequest): RawRequest {
  const prefers = request.headers.some(
    ([name, value]) => /^prefer$/i.test(name) && /wait="?[1-9]/.test(value),
  );
  return prefers || WAITS.test(request.target) ? { hangUpAfterMs: 60, ...request } : request;
}

async function send({ kind, template, twists: twisted }: Drawn, lane: Lane): Promise<Exchange> {
  const meant = concrete(template, living);
  const sent = bounded(twisted.reduce((request, { apply }) => apply(request), meant.raw));
  const reply = await lane.send(sent, kind !== 'wild');
  const learns = kind !== 'wild' && reply.status !== null && reply.status < 300 && reply.body.startsWith('{');
  if (learns) living.board.learn(JSON.parse(reply.body), template.operation.id, meant.caller);
  return { kind, template, meant, sent, reply };
}

/** What is wrong with the answers to requests that are sent at once, each with the request as a command. */
async function playRound(round: readonly Drawn[]): Promise<string[]> {
  const exchanges = await Promise.all(
    lanes.flatMap((lane, at) => {
      const one = round[at];
      return one === undefined ? [] : [send(one, lane)];
    }),
  );
  return exchanges.flatMap((exchange, at) => {
    tally.count(exchange);
    const { kind, template, sent, reply } = exchange;
    const ways = [template.wrong, ...(round[at]?.twists ?? []).map(({ what }) => what)];
    return faultsOf(exchange, foreign.ids).map((fault) =>
      [
        `${fault}\n  ${kind}, ${template.operation.id}: ${ways.filter((way) => way !== null).join('; ')}`,
        asCommand(sent, app.url),
        `${reply.status} ${reply.body.slice(0, 600)}`,
      ].join('\n  '),
    );
  });
}

it(
  `${REQUESTS} hostile requests of three kinds are each answered as the description says`,
  async () => {
    const startedAt = performance.now();
    const faults: string[] = [];
    for (let bed = 0; bed * BED < REQUESTS; bed += 1) {
      await living.tend();
      await foreign.grow();
      const requests = fc.sample(drawn, { numRuns: BED, seed: SEED + bed });
      for (let at = 0; at < BED; at += LANES)
        faults.push(...(await playRound(requests.slice(at, at + LANES))));
      if (!(await foreign.isUntouched()))
        faults.push(`the other project was changed by request ${bed * BED} or later`);
    }
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    console.info(`seed ${SEED}, ${seconds} s, slowest answer ${Math.round(tally.slowestMs)} ms\n${tally}`);
    expect(faults.slice(0, SHOWN).join('\n\n')).toBe('');
  },
  TIMEOUT_MS,
);

it('every operation did what it is for at least once', () => {
  expect(tally.neverDone()).toEqual([]);
});

it('nothing was logged as a fault', () => {
  const levels = app.logLines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error');
  expect(levels).toEqual([]);
});

it('the rows and the log agree', async () => {
  expect(await audit(app.pool)).toEqual({});
});

it('the service still serves', async () => {
  await living.tend();
  const play = new Play(app);
  const executor = await app.newAgent('executor');
  const { body: run } = await play.planner.post('/v1/runs').send({ name: 'afterwards' }).expect(201);
  const task = await play.create({ run_id: run.id });
  await play.toReview(task.id, executor.http);
  const done = await play.approve(task.id).expect(200);
  expect(done.body.state).toBe('done');
});
