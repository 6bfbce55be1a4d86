import { type Board, type Breaker, find, refuse, type Task } from './board.js';

/** The breakers above tasks: the fleet's, and each agent's. */
const CLOSED: Breaker = {
  state: 'closed',
  probeFrom: null,
  openings: 0,
  probe: null,
  alike: null,
  failures: [],
};
const LONGEST_REST_SECONDS = 3_600;

export function breaker(board: Board, id: string): Breaker {
  const known = board.breakers[id] ?? { ...CLOSED, failures: [] };
  board.breakers[id] = known;
  return known;
}

type Standing = Breaker['state'] | 'half_open';
const standing = (board: Board, { state, probeFrom }: Breaker): Standing =>
  state === 'open' && probeFrom !== null && board.now >= probeFrom ? 'half_open' : state;

/** Each time in a row it rests twice as long, up to an hour. */
function open(board: Board, one: Breaker, alike: string | null): void {
  const seconds = Math.min(board.rules.cooldownSeconds * 2 ** one.openings, LONGEST_REST_SECONDS);
  one.state = 'open';
  one.alike = alike;
  one.probeFrom = board.now + seconds * 1000;
  one.openings += 1;
  one.probe = null;
}

export function close(one: Breaker): void {
  Object.assign(one, CLOSED, { failures: [] });
}

export function isolate(one: Breaker): void {
  one.state = 'isolated';
  one.probeFrom = null;
  one.probe = null;
}

/** What a start of work would probe; refused where one above it is open. */
export function pass(board: Board, agent: string): { fleet: boolean; own: boolean } {
  const fleet = breaker(board, 'fleet');
  const own = breaker(board, agent);
  const isShut = (one: Breaker) =>
    ['open', 'isolated'].includes(standing(board, one)) ||
    (standing(board, one) === 'half_open' && one.probe !== null);
  if (isShut(fleet)) refuse(fleet.state === 'isolated' ? 'isolated' : 'fleet_breaker_open');
  if (isShut(own)) refuse(own.state === 'isolated' ? 'isolated' : 'agent_breaker_open');
  return { fleet: standing(board, fleet) === 'half_open', own: standing(board, own) === 'half_open' };
}

export const failedAlike = (board: Board, task: Task): boolean =>
  task.failedLike === breaker(board, 'fleet').alike;

export function beginProbes(
  board: Board,
  task: Task,
  agent: string,
  of: { fleet: boolean; own: boolean },
): void {
  const probe = { task: task.id, attempt: task.tries.length };
  if (of.fleet) breaker(board, 'fleet').probe = probe;
  if (of.own) breaker(board, agent).probe = probe;
}

/** A probe that has ended: a result closes, a failure opens again, anything else gives its place back. */
export function endProbes(board: Board): void {
  for (const one of Object.values(board.breakers)) {
    if (one.probe === null) continue;
    const task = find(board, one.probe.task);
    const outcome = task?.tries[one.probe.attempt - 1]?.outcome;
    if (outcome === 'in_progress') continue;
    const cannot = task !== undefined && /^(error|fatal):/.test(task.failedLike ?? '');
    if (outcome === 'submitted') close(one);
    else if (outcome === 'failed' && cannot) open(board, one, one.alike);
    else one.probe = null;
  }
}

/** Remembers a failure of class `error`; answers whether it counts on its task. */
export function noteError(board: Board, task: Task, agent: string, alike: string): boolean {
  const { fleetThreshold, fleetWindowSeconds } = board.rules;
  const fleet = breaker(board, 'fleet');
  if (standing(board, fleet) !== 'closed') return fleet.alike !== alike;
  const since = board.now - fleetWindowSeconds * 1000;
  fleet.failures = [
    ...fleet.failures.filter(({ at }) => at > since),
    { alike, task: task.id, agent, at: board.now },
  ];
  const same = fleet.failures.filter((failure) => failure.alike === alike);
  if (new Set(same.map((failure) => failure.task)).size < fleetThreshold) return true;
  if (new Set(same.map((failure) => failure.agent)).size > 1) open(board, fleet, alike);
  else openOf(board, agent, alike);
  return true;
}

/** The agent's own breaker, unless it is open already. */
export function openOf(board: Board, agent: string, alike: string): void {
  const own = breaker(board, agent);
  if (own.state === 'closed') open(board, own, alike);
}
