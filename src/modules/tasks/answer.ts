import type { JsonObject } from '../../kernel/json.js';
import type { Refusal } from '../../kernel/refusal.js';
import { layerToWire, verdictToWire } from '../guard/wire.js';
import { readGuard } from './decide/settle.js';
import type { Decision, Draft } from './decide.js';
import type { Command } from './types.js';
import { answerToWire, claimToWire, time } from './wire.js';

/**
 * What a command is answered with, complete before the commit: an answer that fails to be made must fail before anything is
 * written. `none`: nothing to claim.
 */
export type Answer =
  | {
      readonly kind: 'done' | 'created';
      readonly body: string;
      readonly version: number | null;
      readonly replayed: boolean;
    }
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** The answer that a decision stands for. */
export function answerOf(decision: Decision, command: Command): Answer {
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
      const task = draft.taskOf(outcome.taskId);
      return done(draft, {
        directive,
        ...(reason === null ? {} : { reason }),
        lease_expires_at: leaseExpiresAt === null ? null : time(leaseExpiresAt),
        guard: verdictToWire(readGuard(draft, task)),
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
  return answerToWire(task, draft.limitsOf(task), readGuard(draft, task), draft.trip);
}

type Claims = Extract<Decision['outcome'], { kind: 'claims' }>['claims'];

function claims(draft: Draft, given: Claims): JsonObject[] {
  return given.map(({ taskId, lease, guard }) => {
    const task = draft.taskOf(taskId);
    return claimToWire(task, draft.limitsOf(task), lease, guard, draft.trip);
  });
}

function single(draft: Draft, given: Claims): JsonObject {
  return claims(draft, given)[0] ?? {};
}
