import { afterAll, beforeAll, expect, test } from 'vitest';
import { audit } from '../../support/audit.js';
import { SOAK } from '../../support/soak.js';
import { hire } from './crew.js';
import { judge } from './judge.js';
import { type History, playHistory, type Setting } from './play.js';
import { connect, type Services, startServices } from './service.js';
import { tallyOf } from './tally.js';

const PROCESSES = 2;
const PROJECTS = 3;
const HISTORIES = SOAK === 1 ? 160 : 600;
const AT_ONCE = 16;
/** The same choices in every run; how they meet is up to the processes. A soak makes new ones. */
const SEED = SOAK === 1 ? 1 : Date.now() % 1_000_000;
/** The service is built first, unless it is. */
const START_MS = 180_000;
const TIMEOUT_MS = 1_800_000;

let services: Services;
const settings: Setting[] = [];

beforeAll(async () => {
  services = await startServices(PROCESSES);
  const { aheadMs, operatorKey } = services;
  const connections = connect(services);
  for (let made = 0; made < PROJECTS; made += 1) {
    const crew = await hire(connections[0], operatorKey);
    settings.push({ connections, crew, aheadMs });
  }
}, START_MS);
afterAll(async () => {
  for (const connection of settings[0]?.connections ?? []) connection.close();
  await services.stop();
});

test(
  'what agents are told by two processes at once is told by one order of whole commands, and that order is the log',
  async ({ annotate }) => {
    const played: History[] = [];
    const begun = performance.now();
    let next = 0;
    const playOn = async (): Promise<void> => {
      for (let seed = next++; seed < HISTORIES; seed = next++) {
        const setting = settings[seed % settings.length];
        if (setting === undefined) throw new Error('there is no project to play in');
        const history = await playHistory(setting, SEED + seed);
        const fault = judge(history);
        if (fault !== null) {
          next = HISTORIES;
          expect.fail(fault.explanation);
        }
        played.push(history);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, playOn));

    const tally = tallyOf(played);
    const seconds = Math.round((performance.now() - begun) / 1000);
    await annotate(`${played.length} histories, ${tally.operations} operations, ${seconds} s`);
    expect(tally.neverDone).toEqual([]);
    expect(tally.neverSeen).toEqual([]);
    expect(tally.troubles).toEqual([]);
    expect(await audit(services.pool)).toEqual({});
  },
  TIMEOUT_MS,
);
