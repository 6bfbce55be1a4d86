import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { SOAK } from '../../support/soak.js';
import { send } from './client.js';
import { dice } from './dice.js';
import { sendInto } from './everywhere.js';
import { expectWhole, makeHome, timesOf } from './harness.js';
import { Load } from './load.js';
import { startRig } from './rig.js';
import { SCENES } from './scenes.js';
import { Service } from './service.js';

const KILLS = 5 * SOAK;

/** A kill comes when it comes, and not just behind an answer: up to so long after it. */
const ANY_MOMENT_MS = 20;

test(`${KILLS} times kill -9 under load: nothing acknowledged is lost, nothing is done twice, and it serves again`, async () => {
  const home = await makeHome();
  onTestFinished(() => home.remove());
  const service = await Service.start({ folder: home.folder });
  onTestFinished(() => service.stop());
  const load = new Load(service, { clients: 16, seed: 1 });
  const roll = dice(1);
  const times: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await load.more(20 + Math.floor(roll() * 100));
    await pause(roll() * ANY_MOMENT_MS);
    await service.kill();
    const from = performance.now();
    service.spawn();
    await load.more(1);
    times.push(performance.now() - from);
    await home.withPool((pool) => expectWhole(pool, load));
  }
  await load.stop();
  await home.withPool((pool) => expectWhole(pool, load, { all: true }));
  const { median, max } = timesOf(times);
  if (SOAK > 1) console.log(`${KILLS} kills, serving again after`, { median, max }, load.figures);
  // The promise is 3 seconds, of which one is enough on a machine that does nothing else. It is not held here as it stands: the
  // start of a process is in it, and beside other tests that takes as long as they let it.
  expect(max).toBeLessThan(20_000);
}, 1_800_000);

/** Where a batch may be when its process dies: not yet made, made half, and made without anybody being told. */
const MOMENTS = [
  { name: 'a claim', at: 'combined 1', moment: 'before', times: 0 },
  { name: 'a claim', at: 'combined 1', moment: 'answered', times: 1 },
  { name: 'a task that is created', at: 'commit 1', moment: 'before', times: 0 },
  { name: 'a task that is created', at: 'commit 1', moment: 'answered', times: 1 },
] as const;

test('kill -9 in the middle of a batch: sent again, each command is carried out once', async () => {
  const rig = await startRig();
  onTestFinished(() => rig.close());
  const { service } = rig;
  for (const { name, at, moment, times } of MOMENTS) {
    const command = await SCENES[name](rig);
    const { struck, first } = await sendInto(rig, command, { at, moment, how: 'stall' });
    if (struck === null) throw new Error(`${at} did not come`);
    await service.kill();
    await expect(first).rejects.toThrow('the service did not answer');
    expect(await rig.timesInLog(command)).toBe(times);
    service.spawn();
    const { status } = await send(service.url, rig.ledger, command);
    expect([200, 201]).toContain(status);
    struck.letGo();
    await struck.over;
    expect(await rig.timesInLog(command)).toBe(1);
  }
  await rig.expectWhole();
}, 120_000);
