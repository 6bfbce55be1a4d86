import type { Actor, Role } from '../../src/kernel/actor.js';
import type { ServerLimits } from '../../src/modules/guard/limits.js';
import type { Policies } from '../../src/modules/projects/types.js';
import { newRun } from '../../src/modules/runs/decide.js';
import type { Run } from '../../src/modules/runs/types.js';
import { NO_COUNTERS, NO_USAGE } from '../../src/modules/tasks/decide/machine.js';
import type {
  Attempt,
  Counters,
  LastAttempt,
  Lease,
  NewTask,
  Task,
  TaskMemory,
  TaskState,
  Usage,
} from '../../src/modules/tasks/types.js';

/** When the tests' time begins: milliseconds since the epoch. */
export const START = Date.parse('2026-01-01T00:00:00.000Z');

export const PROJECT = idOf(1);
export const RUN = idOf(2);

/** The policies of a server that nobody configured. */
export const POLICIES: Policies = {
  fleetThreshold: 5,
  fleetWindowSeconds: 600,
  cooldownSeconds: 300,
  maxAutoRecoveries: 2,
  errorRecovery: 'auto',
};

/** The n-th id. */
export function idOf(n: number): string {
  return `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`;
}

let made = 1000;
/** An id that nothing has yet. */
export function someId(): string {
  made += 1;
  return idOf(made);
}

/** The limits of a server that nobody configured. */
export const SERVER: ServerLimits = {
  maxReworks: 5,
  maxErrors: 3,
  maxTokens: 10_000,
  maxCostMicros: null,
  maxReviewFailures: 3,
  maxAttempts: 20,
  maxUnblocks: 3,
  reassignAfter: 3,
  maxAttemptSeconds: 21_600,
  maxIterations: 100,
  maxRunTokens: null,
  maxRunCostMicros: null,
};

/** An agent of the tests' project. */
export function someAgent(name: string, ...roles: Role[]): Actor & { readonly agentId: string } {
  return { projectId: PROJECT, agentId: someId(), name, roles };
}

export function someRun(over: Partial<Run> = {}): Run {
  const start = {
    id: RUN,
    name: 'default',
    limits: {},
    iterationMode: 'total' as const,
    deadlineAt: null,
    isDefault: true,
  };
  return { ...newRun(start, PROJECT, START), ...over };
}

const NO_MEMORY = {
  last: null,
  workers: [],
  excluded: [],
  assigned: null,
  sentBack: {},
  warned: [],
  refused: [],
  trip: null,
  changedSinceTrip: false,
  blockedByOperator: false,
  cancelledUnder: null,
  submitted: false,
  autoRecoverAt: null,
  autoRecoveries: 0,
  lastReview: null,
  fatalBy: [],
} satisfies TaskMemory;

type TaskOver = Partial<Omit<Task, 'counters' | 'memory'>> & {
  readonly counters?: Partial<Counters>;
  readonly memory?: Partial<TaskMemory>;
};

/** A valid task, pending unless told otherwise. */
export function someTask(over: TaskOver = {}): Task {
  const { counters, memory, ...fields } = over;
  return {
    id: someId(),
    projectId: PROJECT,
    runId: RUN,
    parentId: null,
    supersedes: null,
    supersededBy: null,
    dedupeKey: null,
    title: 'Fetch the posts',
    description: '',
    acceptance: [],
    priority: 5,
    labels: [],
    dependsOn: [],
    unmet: 0,
    hasDependants: false,
    limits: {},
    notBefore: null,
    state: 'pending',
    readyAt: START,
    block: null,
    claimedBy: null,
    lease: null,
    leaseToken: 0,
    attempt: 0,
    eventNumber: 0,
    feedback: null,
    version: 1,
    createdAt: START,
    updatedAt: START,
    finishedAt: null,
    ...fields,
    counters: { ...NO_COUNTERS, ...counters },
    memory: { ...NO_MEMORY, ...memory },
  };
}

export function someLease(agentId: string, over: Partial<Lease> = {}): Lease {
  return {
    kind: 'work',
    agentId,
    token: 1,
    seconds: 300,
    startedAt: START,
    expiresAt: START + 300_000,
    ...over,
  };
}

export function someLast(agentId: string, over: Partial<LastAttempt> = {}): LastAttempt {
  return {
    number: 1,
    agentId,
    token: 1,
    outcome: 'in_progress',
    hasResult: false,
    judged: false,
    failedWith: null,
    usage: NO_USAGE,
    ...over,
  };
}

/** A task as the loop would have left it in a state: worked on by `agentId` where somebody must have. */
export function taskIn(state: TaskState, agentId: string, over: TaskOver = {}): Task {
  const { counters, memory, ...fields } = over;
  const worked = { attempt: 1, leaseToken: 1, counters: { attemptsSinceUnblock: 1, ...counters } };
  const remembers = (last: Partial<LastAttempt>): Partial<TaskMemory> => ({
    workers: [agentId],
    last: someLast(agentId, last),
    submitted: last.hasResult === true,
    ...memory,
  });
  const finishedAt = START;
  switch (state) {
    case 'pending':
      return someTask(over);
    case 'in_progress':
      return someTask({
        ...worked,
        state,
        claimedBy: agentId,
        lease: someLease(agentId),
        memory: remembers({}),
        ...fields,
      });
    case 'in_review':
      return someTask({
        ...worked,
        state,
        claimedBy: agentId,
        memory: remembers({ outcome: 'submitted', hasResult: true }),
        ...fields,
      });
    case 'rework':
      return someTask({
        ...worked,
        state,
        counters: { ...worked.counters, reworkCount: 1, reworkTotal: 1 },
        memory: remembers({ outcome: 'submitted', hasResult: true, judged: true }),
        ...fields,
      });
    case 'blocked':
      return someTask({ state, block: { kind: 'needs_input', reason: 'which account?' }, ...over });
    case 'done':
      return someTask({
        ...worked,
        state,
        finishedAt,
        memory: remembers({ outcome: 'submitted', hasResult: true, judged: true }),
        ...fields,
      });
    case 'cancelled':
      return someTask({ state, finishedAt, ...over });
  }
}

export function someNewTask(over: Partial<NewTask> = {}): NewTask {
  return {
    id: someId(),
    runId: null,
    parentId: null,
    title: 'Fetch the posts',
    description: '',
    acceptance: [],
    priority: 5,
    labels: [],
    dependsOn: [],
    limits: {},
    notBefore: null,
    dedupeKey: null,
    supersedes: null,
    ...over,
  };
}

export function someAttempt(taskId: string, agentId: string, over: Partial<Attempt> = {}): Attempt {
  return {
    taskId,
    number: 1,
    agentId,
    leaseToken: 1,
    sessionId: null,
    claimedAt: START,
    endedAt: null,
    outcome: 'in_progress',
    result: null,
    resultHash: null,
    lateResult: null,
    error: null,
    usage: NO_USAGE,
    change: null,
    verdict: null,
    ...over,
  };
}

/** A report of so many input tokens and iterations. */
export function someUsage(input: number, iterations = 0): Usage {
  return { ...NO_USAGE, tokens: { ...NO_USAGE.tokens, input }, iterations };
}
