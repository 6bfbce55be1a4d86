import { ok, type Result, refuse } from '../../kernel/refusal.js';
import type { Assessment, OwnLimits, OwnTaskLimits, Strategy } from '../guard/types.js';
import { limitWireName } from '../guard/wire.js';
import type { RunCommand } from '../runs/types.js';
import type { AnyCommand, NewTask, UnblockChanges } from '../tasks/types.js';
import type { Subject } from './types.js';

/** What a caller wants done about a trip. */
export interface Recovery {
  readonly strategy: Strategy;
  readonly reason: string;
  readonly assessment: Assessment | null;
  readonly changes: Omit<UnblockChanges, 'limits'> & {
    readonly limits?: OwnLimits;
    readonly deadlineAt?: number | null;
  };
  readonly resetTokens: boolean;
  readonly to: 'pending' | 'in_review' | null;
  /** The parts of a split. */
  readonly tasks: readonly NewTask[];
}

/** The limits that only a run has. */
const ONLY_OF_RUNS = ['maxIterations', 'maxRunTokens', 'maxRunCostMicros'] as const;

/**
 * The one command that a recovery is. Whether an `unblock` is recorded as reset or adjusted follows from whether something
 * changed, not from what was announced.
 */
export function commandFor(subject: Subject, recovery: Recovery, version: number): Result<AnyCommand> {
  const { strategy, changes, tasks } = recovery;
  if (strategy !== 'adjust' && strategy !== 'split' && Object.keys(changes).length > 0)
    return wrong(['/changes'], `${strategy} changes nothing; to change something, the strategy is adjust`);
  if (strategy === 'split' && tasks.length === 0) return wrong(['/tasks'], 'a split needs its parts');
  if (strategy !== 'split' && tasks.length > 0) return wrong(['/tasks'], 'only a split has parts');
  return subject.kind === 'run'
    ? onRun(subject.id, recovery, version)
    : onTask(subject.id, recovery, version);
}

function onRun(runId: string, recovery: Recovery, version: number): Result<RunCommand> {
  const { strategy, reason, assessment, resetTokens, to } = recovery;
  if (strategy === 'split')
    return wrong(['/strategy'], `${strategy} is for the trip of a task, but this trip is of a run`);
  const { limits, deadlineAt, ...others } = recovery.changes;
  const foreign = Object.keys(others).map((name) => `/changes/${WIRE[name] ?? name}`);
  if (to !== null) foreign.push('/to');
  if (foreign.length > 0) return wrong(foreign, 'is of a task, but this trip is of a run');
  const changes = {
    ...(limits === undefined ? {} : { limits }),
    ...(deadlineAt === undefined ? {} : { deadlineAt }),
  };
  return ok({ type: 'recover_run', runId, version, strategy, reason, assessment, changes, resetTokens });
}

function onTask(taskId: string, recovery: Recovery, version: number): Result<AnyCommand> {
  const { strategy, reason, assessment, resetTokens, tasks } = recovery;
  if (strategy === 'terminate') return ok({ type: 'cancel', taskId, version, reason });
  if (strategy === 'escalate') return ok({ type: 'escalate', taskId, version, reason });
  const { limits, deadlineAt, ...others } = recovery.changes;
  const foreign = ONLY_OF_RUNS.filter((name) => limits?.[name] !== undefined).map(
    (name) => `/changes/limits/${limitWireName(name)}`,
  );
  if (deadlineAt !== undefined) foreign.push('/changes/deadline_at');
  if (foreign.length > 0) return wrong(foreign, 'is of a run, but this trip is of a task');
  const taskLimits: { limits?: OwnTaskLimits } = limits === undefined ? {} : { limits };
  const form = { taskId, version, reason, assessment, changes: { ...others, ...taskLimits }, resetTokens };
  return strategy === 'split'
    ? ok({ type: 'split', ...form, tasks })
    : ok({ type: 'unblock', ...form, to: recovery.to ?? 'pending' });
}

const WIRE: Readonly<Record<string, string>> = {
  dependsOn: 'depends_on',
  excludedAgentId: 'excluded_agent_id',
  assignedAgentId: 'assigned_agent_id',
};

function wrong(pointers: readonly string[], detail: string): Result<never> {
  return refuse(
    'invalid_request',
    `This recovery does not fit its trip: ${pointers.join(', ')}: ${detail}.`,
    {
      errors: pointers.map((pointer) => ({ pointer, detail: `${detail}.`, code: 'invalid' })),
    },
  );
}
