import { z } from 'zod';
import type { JsonObject } from '../../kernel/json.js';
import type { LimitBook } from '../projects/index.js';
import { isOptionalLimit, LIMIT_CEILINGS, limitNames, ownLimitsOf, type ServerLimits } from './limits.js';
import { limitWireName, ownLimitsToWire, SMALLEST_USD, toMicros, toUsd } from './wire.js';

type LimitName = keyof ServerLimits;

function isCost(name: LimitName): boolean {
  return name.endsWith('Micros');
}

function changeOf(name: LimitName): z.ZodType {
  const ceiling = LIMIT_CEILINGS[name];
  const number = isCost(name)
    ? z.number().min(SMALLEST_USD).max(toUsd(ceiling))
    : z.int().min(1).max(ceiling);
  return number.nullable().optional();
}

/** A project's limits as a change of them comes in: null lifts an optional one, and gives any other back to the server. */
export const projectLimitChanges: z.ZodType<JsonObject> = z
  .strictObject(Object.fromEntries(limitNames().map((name) => [limitWireName(name), changeOf(name)])))
  .pipe(z.record(z.string(), z.number().nullable()))
  .meta({ id: 'ProjectLimits' });

/** What a project must know of its limits, above those of this server. */
export function projectLimits(server: ServerLimits): LimitBook {
  return {
    change(stored, changes) {
      const limits: JsonObject = { ...stored };
      for (const name of limitNames()) {
        const value = changes[limitWireName(name)];
        if (value === null && isOptionalLimit(name)) limits[name] = null;
        else if (value === null) delete limits[name];
        else if (typeof value === 'number') limits[name] = isCost(name) ? toMicros(value) : value;
      }
      return limits;
    },
    own: (stored) => ownLimitsToWire(ownLimitsOf(stored)),
    inForce: (stored) => ownLimitsToWire({ ...server, ...ownLimitsOf(stored) }),
  };
}
