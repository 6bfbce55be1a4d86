import type { RefusalCode } from '../../../../src/kernel/refusal.js';
import type { ServerLimits } from '../../../../src/modules/guard/limits.js';
import type { Layer, OwnLimits } from '../../../../src/modules/guard/types.js';
import type { BlockKind, Outcome, TaskState } from '../../../../src/modules/tasks/types.js';
import { DEFAULT_RUN, EVERYBODY } from '../cast.js';

/** The board as the domain's own words describe it, written apart from the service. Times in milliseconds since it began. */
export interface Lease {
  kind: 'work' | 'review';
  agent: string;
  token: number;
  seconds: number;
  from: number;
  until: number;
}

export interface Try {
  agent: string;
  token: number;
  outcome: Outcome;
  hasResult: boolean;
  judged: boolean;
}

/** The incident that an open limit is; `probing` while the server lets a task try again after its errors. */
export interface Trip {
  kind: Layer;
  value: number;
  high: boolean;
  probing: boolean;
}

export interface Task {
  id: string;
  run: string;
  parent: string | null;
  supersededBy: string | null;
  dedupeKey: string | null;
  priority: number;
  description: string;
  limits: OwnLimits;
  dependsOn: string[];
  notBefore: number | null;
  state: TaskState;
  block: BlockKind | null;
  blockedByOperator: boolean;
  /** Since when, or from when, it can be claimed. */
  ready: number;
  lease: Lease | null;
  token: number;
  tries: Try[];
  excluded: string[];
  workers: string[];
  assigned: string | null;
  sentBack: { [agent: string]: number };
  fatalBy: string[];
  failedLike: string | null;
  reworks: number;
  reworkTotal: number;
  errors: number;
  errorTotal: number;
  reviewFailures: number;
  /** Attempts since the last unblock. */
  starts: number;
  tokens: number;
  cost: number;
  unblocks: number;
  trips: number;
  trip: Trip | null;
  changedSinceTrip: boolean;
  /** The trip it was given up under: whoever replaces it answers for that. */
  givenUpUnder: Trip | null;
  submitted: boolean;
  /** When it tries again by itself, and how often it has. */
  probeAt: number | null;
  probes: number;
}

export interface Run {
  id: string;
  state: 'open' | 'tripped' | 'closed';
  total: boolean;
  limits: OwnLimits;
  startedAt: number;
  deadline: number | null;
  iterations: number;
  tokens: number;
  cost: number;
  recoveries: number;
  trips: number;
  trip: Trip | null;
  changedSinceTrip: boolean;
}

/** The fleet's, by the name `fleet`, or an agent's by its id. */
export interface Breaker {
  state: 'closed' | 'open' | 'isolated';
  probeFrom: number | null;
  openings: number;
  probe: { task: string; attempt: number } | null;
  alike: string | null;
  failures: { alike: string; task: string; agent: string; at: number }[];
}

/** What the project and its server have set. */
export interface Rules {
  readonly server: ServerLimits;
  readonly project: OwnLimits;
  readonly cooldownSeconds: number;
  readonly fleetThreshold: number;
  readonly fleetWindowSeconds: number;
  readonly maxAutoRecoveries: number;
}

export interface Board {
  now: number;
  readonly rules: Rules;
  tasks: Task[];
  runs: Run[];
  breakers: { [id: string]: Breaker };
  seen: { [agent: string]: number };
}

/** A "no", by its code. */
export class Refused extends Error {
  constructor(readonly code: RefusalCode) {
    super(code);
  }
}

export function refuse(code: RefusalCode): never {
  throw new Refused(code);
}

export function newRun(id: string, over: Partial<Run> = {}): Run {
  return {
    id,
    state: 'open',
    total: true,
    limits: {},
    startedAt: 0,
    deadline: null,
    iterations: 0,
    tokens: 0,
    cost: 0,
    recoveries: 0,
    trips: 0,
    trip: null,
    changedSinceTrip: false,
    ...over,
  };
}

export function newBoard(rules: Rules): Board {
  const seen = Object.fromEntries(EVERYBODY.map(({ id }) => [id, 0]));
  return { now: 0, rules, tasks: [], runs: [newRun(DEFAULT_RUN, { total: false })], breakers: {}, seen };
}

export const find = (board: Board, id: string): Task | undefined => board.tasks.find((t) => t.id === id);
export const taskOf = (board: Board, id: string): Task => find(board, id) ?? refuse('not_found');
export const runOf = (board: Board, id: string): Run =>
  board.runs.find((run) => run.id === id) ?? refuse('not_found');

export const isFinal = (task: Task): boolean => task.state === 'done' || task.state === 'cancelled';
export const last = (task: Task): Try | undefined => task.tries.at(-1);

/** A task's limits: its own, else its run's, else the project's, else the server's. */
export function limitsOf(board: Board, { run, limits }: Pick<Task, 'run' | 'limits'>): ServerLimits {
  return { ...board.rules.server, ...board.rules.project, ...runOf(board, run).limits, ...limits };
}

export function budgetOf(board: Board, run: Run): ServerLimits {
  return { ...board.rules.server, ...board.rules.project, ...run.limits };
}

/** The task that counts for a dependency: itself, or the last in the line of those that supersede it. */
export function standIn(board: Board, id: string): Task {
  const task = taskOf(board, id);
  return task.supersededBy === null ? task : standIn(board, task.supersededBy);
}

export function standIns(board: Board, ids: readonly string[]): Task[] {
  return [...new Set(ids.map((id) => standIn(board, id)))];
}

export function unmet(board: Board, task: Task): Task[] {
  return standIns(board, task.dependsOn).filter(({ state }) => state !== 'done');
}

export function dependants(board: Board, task: Task): Task[] {
  return board.tasks.filter((one) => !isFinal(one) && standIns(board, one.dependsOn).includes(task));
}

/** Whether waiting for one task means, sooner or later, waiting for the other. */
export function waitsFor(board: Board, from: string, to: string): boolean {
  const { supersededBy, dependsOn } = taskOf(board, from);
  return (
    from === to || (supersededBy === null ? dependsOn : [supersededBy]).some((id) => waitsFor(board, id, to))
  );
}
