import { roleFor } from '../../../kernel/actor.js';
import { toWire } from '../../../kernel/ids.js';
import type { JsonObject } from '../../../kernel/json.js';
import { ok, type Refusal, type Result } from '../../../kernel/refusal.js';
import { crossings, evaluate, openRunLayers } from '../../guard/evaluate.js';
import { escalated, isSlowLoop, mustEscalate, nothingChanged, stillOverLimit } from '../../guard/recovery.js';
import { layerToWire, ownLimitsToWire, tripFacts } from '../../guard/wire.js';
import { changedRunFields, edited, newRun } from '../../runs/decide.js';
import { RUN_TRANSITIONS } from '../../runs/transitions.js';
import type { Run, RunCommand, RunCommandOf } from '../../runs/types.js';
import { runFacts } from '../../runs/wire.js';
import { closeTrip } from './closing.js';
import type { Draft } from './draft.js';
import { raisesUnblocks } from './refusals.js';
import { settleRun } from './settle.js';

/** Decides a command on a run; the id of the run it was about. */
export function decideRun(draft: Draft, command: RunCommand): Result<string> {
  const { actor } = draft.context;
  const { by } = RUN_TRANSITIONS[command.type];
  if (actor.agentId !== null && roleFor(actor, by) === null) {
    return refused('forbidden_role', `This needs the role ${by.join(' or ')}.`, {
      facts: { required_roles: [...by] },
    });
  }
  if (command.type === 'create_run') return createRun(draft, command);
  const run = draft.run(command.runId);
  if (run === null) return { ok: false, refusal: missingRun(command.runId) };
  if (command.version !== undefined && command.version !== run.version) {
    return refused(
      'stale_version',
      `The run is at version ${run.version}, not at the one you named. Read it again.`,
      { facts: { version: run.version } },
    );
  }
  if (!RUN_TRANSITIONS[command.type].from.includes(run.state))
    return { ok: false, refusal: notInState(run, command) };
  switch (command.type) {
    case 'update_run':
      return updateRun(draft, run, command);
    case 'recover_run':
      return recoverRun(draft, run, command);
    case 'close_run':
      return closeRun(draft, run, command);
  }
}

/** A run that is not there, whether it never was or is another project's. */
export function missingRun(runId: string): Refusal {
  return {
    code: 'not_found',
    detail: `There is no run ${toWire('run', runId)} in this project. Make one with POST /v1/runs, or leave run_id out for the default run.`,
    nextActions: [{ call: 'create_run', role: 'planner' }],
  };
}

function refused(
  code: Refusal['code'],
  detail: string,
  more: Omit<Refusal, 'code' | 'detail'> = {},
): Result<never> {
  return { ok: false, refusal: { code, detail, ...more } };
}

function notInState(run: Run, command: RunCommand): Refusal {
  return {
    code: run.state === 'closed' ? 'run_closed' : 'invalid_transition',
    detail: `The run is ${run.state}; ${command.type} needs it ${RUN_TRANSITIONS[command.type].from.join(' or ')}.`,
    facts: { state: run.state },
    nextActions: [{ call: 'get_run', on: { kind: 'run', id: run.id } }],
  };
}

function createRun(draft: Draft, { run }: RunCommandOf<'create_run'>): Result<string> {
  const { now, actor } = draft.context;
  if (raisesUnblocks(draft, run.limits, draft.usualLimits)) return operatorsLimit();
  const made = draft.putRun(newRun(run, actor.projectId, now));
  draft.emitOfRun('run.created', made, { data: runFacts(made) });
  return ok(made.id);
}

function updateRun(draft: Draft, run: Run, command: RunCommandOf<'update_run'>): Result<string> {
  const next = edited(run, command.edit);
  if (command.edit.limits?.maxUnblocks !== undefined && !draft.context.actor.roles.includes('operator'))
    return operatorsLimit();
  const changed = changedRunFields(run, next);
  if (changed.length === 0) return ok(run.id);
  const weighty = run.memory.trip !== null && changed.some((field) => field !== 'name');
  const { memory } = next;
  const put = draft.putRun({
    ...next,
    memory: { ...memory, changedSinceTrip: memory.changedSinceTrip || weighty },
  });
  draft.emitOfRun('run.updated', put, { data: { changed, ...runFacts(put) } });
  settleRun(draft, put, readRunGuard(draft, put));
  return ok(run.id);
}

function operatorsLimit(): Result<never> {
  return refused(
    'forbidden_role',
    'max_unblocks is set only by an operator. Leave it out, or ask an operator.',
    {
      facts: { required_roles: ['operator'] },
    },
  );
}

/** The same form, count and rules as a task's unblock. Source: domain, "Recovery". */
function recoverRun(draft: Draft, run: Run, command: RunCommandOf<'recover_run'>): Result<string> {
  const { actor } = draft.context;
  const { trip } = run.memory;
  if (command.strategy === 'escalate') return escalateRun(draft, run, command);
  const byOperator = actor.roles.includes('operator');
  const { maxUnblocks: maxRecoveries } = draft.limitsFor(run);
  if (!byOperator && command.changes.limits?.maxUnblocks !== undefined) return operatorsLimit();
  const next = edited(run, command.changes);
  const fields = changedRunFields(run, next);
  const changed = run.memory.changedSinceTrip || fields.length > 0;
  const recovery = { trip, recoveries: run.recoverCount, maxRecoveries, changed, byOperator };
  if (!byOperator && mustEscalate(recovery)) return { ok: false, refusal: escalationRequired(run) };
  const changes: JsonObject = {
    ...(command.changes.limits === undefined ? {} : { limits: ownLimitsToWire(command.changes.limits) }),
    ...(command.changes.deadlineAt === undefined ? {} : { deadline_at: runFacts(next).deadline_at }),
    ...(command.resetTokens ? { reset_tokens: true } : {}),
  };
  const { strategy, reason, assessment } = command;
  if (strategy === 'terminate') {
    if (trip !== null) closeTrip(draft, trip, { strategy, reason, assessment, changes });
    return end(draft, draft.runById(run.id), reason);
  }
  if (isSlowLoop(recovery)) return { ok: false, refusal: nothingChanged() };
  const lifted: Run = {
    ...next,
    state: 'open',
    openTripId: null,
    iterations: 0,
    tokensUsed: command.resetTokens ? 0 : next.tokensUsed,
    costMicros: command.resetTokens ? 0 : next.costMicros,
    recoverCount: run.recoverCount + 1,
    memory: { ...next.memory, trip: null, refused: [], changedSinceTrip: false },
  };
  const verdict = readRunGuard(draft, lifted);
  const over = openRunLayers(verdict);
  if (over.length > 0) return { ok: false, refusal: stillOverLimit(over.map(layerToWire)) };
  const put = draft.putRun({
    ...lifted,
    memory: { ...lifted.memory, warned: crossings(verdict, []).warned },
  });
  if (trip !== null)
    closeTrip(draft, trip, { strategy: changed ? 'adjust' : 'reset', reason, assessment, changes });
  draft.emitOfRun('run.recovered', put, {
    reason,
    data: { assessment, changes, changed: fields, was: trip?.kind ?? null },
  });
  return ok(run.id);
}

const NOTHING_TO_CHANGE = 'To escalate changes nothing. Leave out changes and reset_tokens.';

/** Hands a run's trip to an operator, whatever its severity. */
function escalateRun(draft: Draft, run: Run, command: RunCommandOf<'recover_run'>): Result<string> {
  const { changes, resetTokens, reason } = command;
  if (resetTokens || Object.keys(changes).length > 0)
    return refused('invalid_request', NOTHING_TO_CHANGE, {
      errors: [
        { pointer: resetTokens ? '/reset_tokens' : '/changes', detail: NOTHING_TO_CHANGE, code: 'invalid' },
      ],
    });
  const grave = run.memory.trip === null ? null : escalated(run.memory.trip);
  if (grave === null) return ok(run.id);
  const put = draft.putRun({ ...run, memory: { ...run.memory, trip: grave } });
  draft.trips.set(grave.id, grave);
  draft.emitOfRun('trip.escalated', put, { reason, data: tripFacts(grave) });
  return ok(run.id);
}

function escalationRequired(run: Run): Refusal {
  return {
    code: 'escalation_required',
    detail: 'This trip is for an operator: it is of HIGH severity, or the recoveries of the run are used up.',
    retryable: false,
    facts: { recover_count: run.recoverCount },
    nextActions: [{ call: 'recover_run', on: { kind: 'run', id: run.id }, role: 'operator' }],
  };
}

function closeRun(draft: Draft, run: Run, command: RunCommandOf<'close_run'>): Result<string> {
  if (run.isDefault)
    return refused('invalid_transition', 'The default run never ends.', { facts: { state: run.state } });
  const reason = command.reason ?? 'closed';
  if (run.memory.trip !== null) closeTrip(draft, run.memory.trip, { strategy: 'terminate', reason });
  return end(draft, draft.runById(run.id), reason);
}

function end(draft: Draft, run: Run, reason: string): Result<string> {
  if (run.isDefault)
    return refused('invalid_transition', 'The default run never ends; recover it with reset or adjust.', {
      facts: { state: run.state },
    });
  const closed = draft.putRun({
    ...run,
    state: 'closed',
    openTripId: null,
    closedAt: draft.context.now,
    memory: { ...run.memory, trip: null, refused: [] },
  });
  draft.emitOfRun('run.closed', closed, { reason });
  return ok(run.id);
}

/** The guard's reading of a run alone. */
export function readRunGuard(draft: Draft, run: Run) {
  return evaluate({
    task: null,
    run: { counters: run, limits: draft.runLimitsOf(run), startedAt: run.createdAt },
    now: draft.context.now,
  });
}
