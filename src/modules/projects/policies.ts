import type { JsonObject } from '../../kernel/json.js';
import type { ProjectPolicies, RecoveryMode } from './types.js';

/** A change of policies as it comes in: null gives one back to the server. */
export interface PolicyChanges {
  readonly fleet_threshold?: number | null | undefined;
  readonly fleet_window_seconds?: number | null | undefined;
  readonly cooldown_seconds?: number | null | undefined;
  readonly max_auto_recoveries?: number | null | undefined;
  readonly error_recovery?: RecoveryMode | null | undefined;
}

/** A project's policies with changes laid over them. */
export function changedPolicies(before: ProjectPolicies, changes: PolicyChanges): ProjectPolicies {
  const number = (known: number | undefined, given: number | null | undefined) =>
    given === undefined ? known : (given ?? undefined);
  const { error_recovery } = changes;
  const next = {
    fleetThreshold: number(before.fleetThreshold, changes.fleet_threshold),
    fleetWindowSeconds: number(before.fleetWindowSeconds, changes.fleet_window_seconds),
    cooldownSeconds: number(before.cooldownSeconds, changes.cooldown_seconds),
    maxAutoRecoveries: number(before.maxAutoRecoveries, changes.max_auto_recoveries),
    errorRecovery: error_recovery === undefined ? before.errorRecovery : (error_recovery ?? undefined),
  };
  const { fleetThreshold, fleetWindowSeconds, cooldownSeconds, maxAutoRecoveries, errorRecovery } = next;
  return {
    ...(fleetThreshold === undefined ? {} : { fleetThreshold }),
    ...(fleetWindowSeconds === undefined ? {} : { fleetWindowSeconds }),
    ...(cooldownSeconds === undefined ? {} : { cooldownSeconds }),
    ...(maxAutoRecoveries === undefined ? {} : { maxAutoRecoveries }),
    ...(errorRecovery === undefined ? {} : { errorRecovery }),
  };
}

/** Policies on the wire: those that were set. */
export function policiesToWire(policies: ProjectPolicies): JsonObject {
  const wire: JsonObject = {};
  const { fleetThreshold, fleetWindowSeconds, cooldownSeconds, maxAutoRecoveries, errorRecovery } = policies;
  if (fleetThreshold !== undefined) wire.fleet_threshold = fleetThreshold;
  if (fleetWindowSeconds !== undefined) wire.fleet_window_seconds = fleetWindowSeconds;
  if (cooldownSeconds !== undefined) wire.cooldown_seconds = cooldownSeconds;
  if (maxAutoRecoveries !== undefined) wire.max_auto_recoveries = maxAutoRecoveries;
  if (errorRecovery !== undefined) wire.error_recovery = errorRecovery;
  return wire;
}
