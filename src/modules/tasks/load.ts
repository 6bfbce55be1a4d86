import type { Queryable } from '../../db/statement.js';
import { loadRoster } from '../agents/index.js';
import { loadBreakers } from '../guard/index.js';
import { ownLimitsOf } from '../guard/limits.js';
import { type Head, type KeptAnswer, loadHead, loadKeptAnswers, loadRules } from '../projects/index.js';
import { loadLiveRuns, loadRuns } from '../runs/index.js';
import type { Board } from './board.js';
import { type Envelope, keptId } from './envelope.js';
import { type Needs, needsOf } from './needs.js';
import { loadQueue } from './store/queue.js';
import { loadAttempts, loadDedupeHolders, loadDependants, loadReachable, loadTasks } from './store.js';

/** How long the agents of a project are believed to be as they were read. */
const ROSTER_MS = 10_000;
/** One row points at the next; nothing real points further than this. */
const ROUNDS_MAX = 1_000;

interface LoadOptions {
  readonly offsetMs: number;
  readonly lock: boolean;
  readonly kept: Map<string, KeptAnswer>;
  /** The head was read before in this batch, and stays. */
  readonly sameHead?: boolean;
}

/**
 * Brings the board to where the project is, with every row that the commands need. The head is read first: whatever is read
 * after it may be newer, and then the commit's compare-and-set fails.
 */
export async function load(
  db: Queryable,
  board: Board,
  envelopes: readonly Envelope[],
  options: LoadOptions,
): Promise<void> {
  if (options.sameHead !== true) await loadFrame(db, board, envelopes, options);
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const needs = needsOf(board, envelopes);
    if (needs.isEmpty) return;
    await fill(db, board, needs);
  }
  throw new Error('the rows of a batch point at one another without end');
}

/** How long after an own commit its word on the head and on the time is as good as a new look. */
const FRESH_MS = 50;

/**
 * The head as the own last commit left it, and the database's time since then by this process's steady clock. Saves a busy
 * project a look for each batch; that nobody else was faster is proved by the commit, or by a look where there is none.
 */
function freshHead({ revision, position, clock }: Board, offsetMs: number): Head | null {
  const elapsed = clock === null ? Number.POSITIVE_INFINITY : performance.now() - clock.steady;
  return clock === null || elapsed > FRESH_MS
    ? null
    : { revision, position, now: Math.floor(clock.database + elapsed + offsetMs) };
}

async function loadFrame(
  db: Queryable,
  board: Board,
  envelopes: readonly Envelope[],
  options: LoadOptions,
): Promise<void> {
  const { projectId } = board;
  const wanted = envelopes.flatMap(({ actor, idempotency }) =>
    actor.agentId === null || idempotency === null
      ? []
      : [{ agentId: actor.agentId, route: idempotency.route, key: idempotency.key }],
  );
  // A server's own command says that a time has passed, by the database's clock: a guess at it that is a little behind would not
  // see that yet, and the command would be in vain.
  const isTimed = envelopes.some(({ actor }) => actor.agentId === null);
  const head =
    (options.lock || isTimed ? null : freshHead(board, options.offsetMs)) ??
    (await loadHead(db, projectId, options.offsetMs, options.lock));
  if (head === null) throw new Error(`project ${projectId} is not there`);
  board.now = head.now;
  board.nowSince = performance.now();
  if (head.revision !== board.revision) {
    board.forget();
    board.revision = head.revision;
    board.position = head.position;
    const [rules, runs, breakers] = await Promise.all([
      loadRules(db, projectId),
      loadLiveRuns(db, projectId),
      loadBreakers(db, projectId),
    ]);
    board.limits = ownLimitsOf(rules.limits);
    board.policies = rules.policies;
    for (const breaker of breakers) board.breakers.set(breaker.id, breaker);
    board.rememberRuns(runs);
  }
  if (head.now - board.rosterLoadedAt > ROSTER_MS) {
    board.rememberRoster(await loadRoster(db, projectId));
    board.rosterLoadedAt = head.now;
  }
  if (wanted.length > 0) {
    for (const answer of await loadKeptAnswers(db, projectId, wanted))
      options.kept.set(keptId(answer), answer);
  }
}

async function fill(db: Queryable, board: Board, needs: Needs): Promise<void> {
  const { projectId } = board;
  const some = <T>(set: ReadonlySet<T>) => (set.size === 0 ? null : [...set]);
  const [tasks, runs, dependants, reachable, keys] = [
    some(needs.tasks),
    some(needs.runs),
    some(needs.dependants),
    some(needs.reachable),
    some(needs.dedupeKeys),
  ];
  await Promise.all([
    tasks === null
      ? null
      : loadTasks(db, projectId, tasks).then((found) => board.rememberLoaded(tasks, found)),
    runs === null ? null : loadRuns(db, projectId, runs).then((found) => board.rememberRuns(found, runs)),
    dependants === null
      ? null
      : loadDependants(db, projectId, dependants).then((found) =>
          board.rememberDependants(dependants, found),
        ),
    reachable === null
      ? null
      : loadReachable(db, projectId, reachable).then((found) => board.rememberReachable(reachable, found)),
    keys === null
      ? null
      : loadDedupeHolders(db, projectId, keys).then((found) => board.rememberDedupe(keys, found)),
    needs.attempts.length === 0
      ? null
      : loadAttempts(db, projectId, needs.attempts).then((found) =>
          board.rememberAttempts(needs.attempts, found),
        ),
    ...[...needs.queues].map(async (window) => {
      const { filter, agentId, end: after } = window;
      const open = [...board.runs.values()].filter((run) =>
        filter.purpose === 'review' ? run.state !== 'closed' : run.state === 'open',
      );
      const runIds = filter.runId === null ? open.map((run) => run.id) : [filter.runId];
      const found = await loadQueue(db, projectId, {
        ...filter,
        agentId,
        runIds,
        after,
        limit: window.size,
      });
      board.fill(window, found);
    }),
  ]);
}

/** Whether the project is still where the board believes it to be: then what was refused over it is refused rightly. */
export async function proveHead(db: Queryable, board: Board): Promise<boolean> {
  const head = await loadHead(db, board.projectId, 0, false);
  const proven = head !== null && head.revision === board.revision;
  board.endBatch();
  return proven;
}
