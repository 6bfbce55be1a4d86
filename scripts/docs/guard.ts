import { loadConfig } from '../../src/config.js';
import { actionFor, readLayer, severityOf } from '../../src/modules/guard/evaluate.js';
import { LIMIT_CEILINGS, limitNames, type ServerLimits } from '../../src/modules/guard/limits.js';
import { LAYERS, type Layer, RUN_LAYERS } from '../../src/modules/guard/types.js';
import { limitWireName, toMicros, toUsd } from '../../src/modules/guard/wire.js';
import { code, table } from './marks.js';

/** What each layer counts, and the limit it is held against. */
const LAYER_TEXTS: Readonly<
  Record<Layer, { readonly counts: string; readonly limit: keyof ServerLimits | null }>
> = {
  deadline: { counts: 'seconds since the run began', limit: null },
  iteration: {
    counts: 'starts of work in the run; the default run starts again at each progress',
    limit: 'maxIterations',
  },
  run_tokens: { counts: 'tokens of all tasks of the run', limit: 'maxRunTokens' },
  run_cost: { counts: 'cost of all tasks of the run', limit: 'maxRunCostMicros' },
  token: { counts: 'input, output and cache-write tokens of the task', limit: 'maxTokens' },
  cost: { counts: 'cost of the task', limit: 'maxCostMicros' },
  error: { counts: 'failures of class `error`, and leases that ran out', limit: 'maxErrors' },
  rework: { counts: 'times the task was sent back', limit: 'maxReworks' },
  review: { counts: 'reviews that ran out or failed for want of infrastructure', limit: 'maxReviewFailures' },
  attempt: { counts: 'attempts, with the one under way or next', limit: 'maxAttempts' },
};

/** What each limit is about, for those that are no layer's. */
const OTHER_LIMITS: Partial<Record<keyof ServerLimits, string>> = {
  maxUnblocks: 'unblocks of a task, or recoveries of a run, before only an operator may',
  reassignAfter: 'rejections of one executor on a task before it is first offered to another',
  maxAttemptSeconds: 'seconds that an attempt or a review may last, heartbeats or not',
};

const SAMPLE = 100;

function serverLimits(): ServerLimits {
  const { maxCostUsd, maxRunCostUsd, ...limits } = loadConfig({}).limits;
  return {
    ...limits,
    maxCostMicros: maxCostUsd === null ? null : toMicros(maxCostUsd),
    maxRunCostMicros: maxRunCostUsd === null ? null : toMicros(maxRunCostUsd),
  };
}

function isRunLayer(layer: Layer): boolean {
  return RUN_LAYERS.some((name) => name === layer);
}

/** Every layer with its edges, found by asking the guard itself. */
export function layerTable(): string {
  const defaults = serverLimits();
  return table(
    ['layer', 'watches', 'counts', 'default limit', 'trips', 'warns'],
    LAYERS.map((layer) => {
      const { counts, limit } = LAYER_TEXTS[layer];
      const value = limit === null ? null : defaults[limit];
      return [
        code(layer),
        isRunLayer(layer) ? 'the run' : 'the task',
        counts,
        value === null ? 'none' : number(value),
        edge(layer, value ?? SAMPLE, (reading) => reading.state === 'open', value === null),
        edge(layer, value ?? SAMPLE, (reading) => reading.warned, value === null),
      ];
    }),
  );
}

/** The lowest value at which something holds, in words. */
function edge(
  layer: Layer,
  limit: number,
  holds: (reading: ReturnType<typeof readLayer>) => boolean,
  isSample: boolean,
): string {
  let low = 0;
  let high = limit * 2;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(readLayer(layer, middle, limit))) high = middle;
    else low = middle;
  }
  if (!isSample) return `at ${number(high)}`;
  if (high === limit) return 'at the limit';
  return high === limit + 1 ? 'above the limit' : `above ${Math.round(((high - 1) / limit) * 100)}% of it`;
}

/** Which severity a trip has, by how far it is over. */
export function severityTable(): string {
  const rows = LAYERS.map((layer) => {
    const highest = [...Array(400).keys()].find(
      (over) => severityOf(layer, SAMPLE + over, SAMPLE, false) === 'HIGH',
    );
    return highest === undefined
      ? [code(layer), 'at any value', 'only when the unblocks are used up']
      : [
          code(layer),
          `to ${SAMPLE + highest - 1}% of the limit`,
          `above ${SAMPLE + highest - 1}%, or when the unblocks are used up`,
        ];
  });
  return [
    table(['layer', `MEDIUM: ${code(actionFor('MEDIUM'))}`, `HIGH: ${code(actionFor('HIGH'))}`], rows),
  ].join('\n');
}

/** Every limit: its names, its default and how far it may be raised. */
export function limitTable(): string {
  const defaults = serverLimits();
  return table(
    ['limit', 'set for', 'variable of the server', 'default', 'highest', 'of'],
    limitNames().map((name) => {
      const layer = LAYERS.find((kind) => LAYER_TEXTS[kind].limit === name);
      const ofRun = layer !== undefined && isRunLayer(layer);
      const wire = limitWireName(name);
      const shown = (value: number | null) =>
        value === null ? 'none' : number(name.endsWith('Micros') ? toUsd(value) : value);
      return [
        code(wire),
        ofRun ? 'run, project' : 'task, run, project',
        code(`FUSEBOARD_${wire.toUpperCase()}`),
        shown(defaults[name]),
        shown(LIMIT_CEILINGS[name]),
        layer === undefined ? (OTHER_LIMITS[name] ?? '') : `the ${code(layer)} layer`,
      ];
    }),
  );
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
