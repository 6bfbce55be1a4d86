import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LAYERS } from '../../../src/modules/guard/types.js';
import { RUN_COMMAND_TYPES } from '../../../src/modules/runs/transitions.js';
import { COMMAND_TYPES } from '../../../src/modules/tasks/transitions.js';
import { SOAK } from '../../support/soak.js';
import { nights, rules } from './moves.js';
import { playMoves, type Tally } from './play.js';
import { openStage } from './stage.js';

/** Histories of a hundred moves each. */
const NIGHTS = 1_000 * SOAK;
/** Played side by side, each shard in a database and with a clock of its own, so that commits overlap. */
const SHARDS = 8;
/** As many as one database plays before it is audited and left. */
const NIGHTS_A_DATABASE = 250;

/**
 * The usual run plays the same histories each time, so that it says something about the change under test and a fault that
 * was there before never fails by chance what is not about it; the long run draws new ones.
 */
const SEED = SOAK > 1 ? Date.now() % 1_000_000_000 : 1;

/** What nobody could trust this for if it never came about. The server's wake is part of its sweep. */
const MUST_BE_SEEN = [
  ...[...COMMAND_TYPES, ...RUN_COMMAND_TYPES]
    .filter((type) => type !== 'wake')
    .map((type) => `${type} ${type === 'create' || type === 'create_run' ? 'created' : 'done'}`),
  ...LAYERS.map((layer) => `${layer}/MEDIUM/open`),
  // A deadline is HIGH only once the recoveries of its run are used up: the thousand histories need not come to that.
  ...LAYERS.filter((layer) => layer !== 'deadline').map((layer) => `${layer}/HIGH/open`),
  'error/MEDIUM/half_open',
  'claim already_claimed',
  'claim agent_breaker_open',
  'claim dependency_unmet',
  'claim excluded_agent',
  'claim fleet_breaker_open',
  'claim forbidden_role',
  'claim invalid_transition',
  'claim isolated',
  'claim not_found',
  'claim not_yet_due',
  'claim run_closed',
  'claim run_tripped',
  'claim self_review',
  'claim task_blocked',
  'claim_next none',
  'create dependency_cycle',
  'create duplicate',
  'create escalation_required',
  'create nothing_changed',
  'create still_over_limit',
  'fail lease_lost',
  'recover_run escalation_required',
  'recover_run still_over_limit',
  'rework self_review',
  'rework stale_attempt',
  'rework verdict_already_recorded',
  'submit empty_result',
  'submit invalid_transition',
  'submit lease_lost',
  'unblock dependency_cycle',
  'unblock escalation_required',
  'unblock nothing_changed',
  'unblock still_over_limit',
];

it('whatever is sent, in whatever order and by whomever, the service does what the model of the domain does', {
  timeout: 600_000 * SOAK,
}, async () => {
  const tally: Tally = new Map();
  let found: number | null = null;
  const playShard = async (shard: number): Promise<void> => {
    const each = NIGHTS / SHARDS;
    for (let played = 0; played < each; played += NIGHTS_A_DATABASE) {
      const stage = await openStage();
      const property = fc.asyncProperty(nights, async ({ project, moves }) => {
        // While one shard looks for the shortest history that fails, the others rest.
        if (found !== null && found !== shard) return;
        await playMoves(stage, rules(project), moves, tally).catch((difference: unknown) => {
          found ??= shard;
          throw difference;
        });
      });
      try {
        const numRuns = Math.min(NIGHTS_A_DATABASE, each - played);
        await fc.assert(property, { numRuns, seed: SEED + shard * each + played });
        expect(await stage.audit()).toEqual({});
      } finally {
        await stage.close();
      }
    }
  };
  await Promise.all(Array.from({ length: SHARDS }, (_, shard) => playShard(shard)));
  expect(MUST_BE_SEEN.filter((what) => !tally.has(what))).toEqual([]);
});
