import fc from 'fast-check';
import type { OwnLimits } from '../../../src/modules/guard/types.js';
import { POLICIES, SERVER } from '../../support/builders.js';
import type { Rules } from './oracle/board.js';

/** What somebody would do next. On which task, by whom and with which numbers is found on the board as it is then. */
const WEIGHTS = {
  claim: 12,
  create: 6,
  submit: 15,
  rework: 14,
  approve: 3,
  fail: 8,
  claim_next: 9,
  unblock: 9,
  time: 6,
  sweep: 3,
  heartbeat: 3,
  report_usage: 3,
  release: 3,
  review: 4,
  review_fails: 3,
  block: 2,
  update: 3,
  cancel: 1,
  supersede: 3,
  split: 2,
  escalate: 1,
  expire_late: 1,
  plan: 1,
  create_run: 2,
  update_run: 1,
  recover_run: 6,
  close_run: 1,
  isolate_breaker: 1,
  close_breaker: 2,
  restart: 1,
};
export type What = keyof typeof WEIGHTS;

export interface Move {
  readonly what: What;
  /** Which of those that fit: the first ones more often, so that each gets far. */
  readonly which: number;
  readonly who: number;
  readonly n: number;
  /** 0 to 5: as somebody would who knows the rules. 6: with something wrong. */
  readonly slip: number;
}

const isWhat = (what: string): what is What => what in WEIGHTS;
const WHATS = Object.entries(WEIGHTS).flatMap(([what, weight]) =>
  isWhat(what) ? Array.from({ length: weight }, () => what) : [],
);

const move: fc.Arbitrary<Move> = fc.record({
  what: fc.constantFrom(...WHATS),
  which: fc.nat(7),
  who: fc.nat(7),
  n: fc.nat(59),
  slip: fc.nat(6),
});

/** Under which limits a project plays: the usual ones, tight ones, and with a fleet that is watched closely. */
const PROJECTS: readonly { readonly project: OwnLimits; readonly fleetThreshold: number }[] = [
  { project: {}, fleetThreshold: 1_000 },
  { project: { maxReworks: 2, maxErrors: 2, maxUnblocks: 2 }, fleetThreshold: 1_000 },
  { project: { maxIterations: 15, maxAttempts: 5 }, fleetThreshold: 3 },
];

export const rules = (n: number): Rules => ({
  server: SERVER,
  cooldownSeconds: POLICIES.cooldownSeconds,
  fleetWindowSeconds: POLICIES.fleetWindowSeconds,
  maxAutoRecoveries: POLICIES.maxAutoRecoveries,
  ...(PROJECTS[n % PROJECTS.length] ?? { project: {}, fleetThreshold: 1_000 }),
});

const LENGTH = 100;
const drawn = fc.array(move, { minLength: LENGTH, maxLength: LENGTH });

/** A hundred moves; but what is found with them is told with as few and as plain ones as still show it. */
class Moves extends fc.Arbitrary<Move[]> {
  generate(random: fc.Random, bias: number | undefined): fc.Value<Move[]> {
    return new fc.Value(drawn.generate(random, bias).value_, undefined);
  }

  canShrinkWithoutContext(value: unknown): value is Move[] {
    return drawn.canShrinkWithoutContext(value);
  }

  shrink(moves: Move[]): fc.Stream<fc.Value<Move[]>> {
    return fc.stream(shorter(moves)).map((fewer) => new fc.Value(fewer, undefined));
  }
}

/** The same without its end, without a part of it, the parts smaller and smaller; then with one move plainer. */
function* shorter(moves: readonly Move[]): Generator<Move[]> {
  for (let size = Math.ceil(moves.length / 2); size > 0; size = Math.floor(size / 2))
    for (let end = moves.length; end > 0; end -= size)
      yield moves.filter((_, index) => index < end - size || index >= end);
  for (const [index, one] of moves.entries())
    for (const plain of [{ which: 0, who: 0, n: 0, slip: 0 }, { n: 0 }, { which: 0 }, { who: 0 }]) {
      const plainer = { ...one, ...plain };
      if (JSON.stringify(plainer) !== JSON.stringify(one)) yield moves.with(index, plainer);
    }
}

/** A night: in which project, and what is tried in it. */
export const nights = fc.record({ project: fc.nat(PROJECTS.length - 1), moves: new Moves() });
