import type { Answer } from '../../kernel/answer.js';
import type { JsonObject } from '../../kernel/json.js';
import { breakerToWire, layerToWire, tripToWire, verdictToWire } from '../guard/wire.js';
import { runToWire } from '../runs/wire.js';
import { verdictOf } from './decide/settle.js';
import type { Decision, Draft } from './decide.js';
import type { Envelope } from './envelope.js';
import type { AnyCommand } from './types.js';
import { answerToWire, claimToWire, time } from './wire.js';

/** The answer that a decision stands for. */
export function answerOf(decision: Decision, { command, tripId }: Envelope): Answer {
  const answer = plainAnswer(decision, command);
  return tripId === undefined ? answer : withTrip(decision, tripId, answer);
}

/** The answer to a recovery: the trip as it was left, beside the task or the run. */
function withTrip({ draft, outcome }: Decision, tripId: string, answer: Answer): Answer {
  if (answer.kind !== 'done' || (outcome.kind !== 'task' && outcome.kind !== 'run')) return answer;
  const { memory } = outcome.kind === 'task' ? draft.taskOf(outcome.taskId) : draft.runById(outcome.runId);
  const trip = draft.trips.get(tripId) ?? memory.trip;
  if (trip === null) throw new Error(`a recovery left nothing of the trip ${tripId}`);
  const body = `{"trip":${JSON.stringify(tripToWire(trip))},"${outcome.kind}":${answer.body}}`;
  return { ...answer, body, version: null };
}

function plainAnswer(decision: Decision, command: AnyCommand): Answer {
  const { draft, outcome } = decision;
  switch (outcome.kind) {
    case 'refused':
      return { kind: 'refused', refusal: outcome.refusal };
    case 'claims':
      if (outcome.claims.length === 0) return { kind: 'none' };
      return command.type === 'claim'
        ? done(draft, single(draft, outcome.claims))
        : done(draft, { claims: claims(draft, outcome.claims) });
    case 'directive': {
      const { directive, reason, leaseExpiresAt } = outcome.directive;
      return done(draft, {
        directive,
        ...(reason === null ? {} : { reason }),
        lease_expires_at: leaseExpiresAt === null ? null : time(leaseExpiresAt),
        guard: verdictToWire(verdictOf(draft, outcome.taskId)),
      });
    }
    case 'created': {
      const tasks = outcome.taskIds.map((id) => answerFor(draft, id));
      const [first] = outcome.taskIds;
      const isPlan = command.type === 'create' && command.plan;
      const body = isPlan ? { run_id: tasks[0]?.run_id ?? null, tasks } : tasks[0];
      const version = isPlan || first === undefined ? null : draft.taskOf(first).version;
      return { kind: 'created', body: JSON.stringify(body), version, replayed: false };
    }
    case 'run': {
      const run = draft.runById(outcome.runId);
      const body = JSON.stringify(runToWire(run, draft.runLimitsOf(run), draft.limitsFor(run)));
      const kind = command.type === 'create_run' ? 'created' : 'done';
      return { kind, body, version: run.version, replayed: false };
    }
    case 'breaker': {
      const { projectId } = draft.context.actor;
      const breaker =
        outcome.breakerId === projectId ? draft.fleetBreaker() : draft.agentBreaker(outcome.breakerId);
      return done(draft, breakerToWire(breaker, draft.context.now));
    }
    case 'task':
      return {
        ...done(draft, answerFor(draft, outcome.taskId)),
        version: draft.taskOf(outcome.taskId).version,
      };
  }
}

function done(
  draft: Draft,
  body: JsonObject,
): { kind: 'done'; body: string; version: number | null; replayed: boolean } {
  const warnings = draft.warnings.length === 0 ? {} : { warnings: draft.warnings.map(layerToWire) };
  return { kind: 'done', body: JSON.stringify({ ...body, ...warnings }), version: null, replayed: false };
}

function answerFor(draft: Draft, taskId: string): JsonObject {
  const task = draft.taskOf(taskId);
  return answerToWire(task, draft.limitsOf(task), verdictOf(draft, taskId), draft.trip);
}

type Claims = Extract<Decision['outcome'], { kind: 'claims' }>['claims'];

function claims(draft: Draft, given: Claims): JsonObject[] {
  return given.map(({ taskId, lease, guard }) => {
    const task = draft.taskOf(taskId);
    // A claim that passed over a task which it found over its limit does not tell of that task's trip.
    const trip = draft.trip?.taskId === taskId || draft.trip?.scope === 'run' ? draft.trip : null;
    return claimToWire(task, draft.limitsOf(task), lease, guard, trip);
  });
}

function single(draft: Draft, given: Claims): JsonObject {
  return claims(draft, given)[0] ?? {};
}
