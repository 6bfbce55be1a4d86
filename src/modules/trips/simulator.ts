import type { Pool } from '../../db/statement.js';
import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import { ok, type Result, refuse } from '../../kernel/refusal.js';
import type { ServerLimits } from '../guard/limits.js';
import type { OwnLimits } from '../guard/types.js';
import { inUnits, limitWireName, toUsd } from '../guard/wire.js';
import { Proposal, type ProposedLimit } from './decide/propose.js';
import type { ReplayEvent, SimulationResult, Stop } from './decide/replay.js';
import { Simulation } from './decide/simulate.js';
import { lastPosition, replayPage } from './history-store.js';

/** What a simulation needs. */
export interface SimulatorDeps {
  readonly pool: Pool;
  readonly limits: ServerLimits;
}

/** What is asked of a simulation. */
export interface SimulationRequest {
  /** Null: propose limits instead. */
  readonly limits: OwnLimits | null;
  /** Milliseconds since the epoch; 0 for the whole log. */
  readonly since: number;
}

/** How many events are in memory at once. */
const PAGE = 2_000;
/** Below so many finished tasks a proposal says how little it rests on. */
const SMALL_SAMPLE = 20;

/** Replays a project's log, from its start to where it ends when the replay begins. Changes nothing. */
export class Simulator {
  /** A long log is long work: one replay a project at a time. */
  private readonly running = new Set<string>();

  constructor(private readonly deps: SimulatorDeps) {}

  async run(projectId: string, request: SimulationRequest, signal: AbortSignal): Promise<Result<JsonObject>> {
    if (this.running.has(projectId)) {
      return refuse('overloaded', 'A simulation of this project is running. Ask again when it is done.', {
        retryable: true,
        retryAfterSeconds: 5,
      });
    }
    this.running.add(projectId);
    try {
      return ok(await this.replay(projectId, request, signal));
    } finally {
      this.running.delete(projectId);
    }
  }

  private async replay(
    projectId: string,
    { limits, since }: SimulationRequest,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    if (limits === null) {
      const proposal = new Proposal(since);
      await this.readLog(projectId, proposal, signal);
      return proposalToWire(proposal.result);
    }
    const simulation = new Simulation({ server: this.deps.limits, limits, since });
    await this.readLog(projectId, simulation, signal);
    return { ...simulationToWire(simulation.result), proposal: null };
  }

  private async readLog(
    projectId: string,
    reader: { take(event: ReplayEvent): void },
    signal: AbortSignal,
  ): Promise<void> {
    const { pool } = this.deps;
    const end = await lastPosition(pool, projectId);
    for (let after = 0; after < end && !signal.aborted; after += PAGE) {
      const events = await replayPage(pool, projectId, after, Math.min(after + PAGE, end));
      for (const event of events) reader.take(event);
    }
  }
}

function simulationToWire({ stopped, stoppedCount, saved, readEvents }: SimulationResult): JsonObject {
  return {
    stopped: stopped.map(stopToWire),
    stopped_count: stoppedCount,
    saved: {
      iterations: saved.iterations,
      reworks: saved.reworks,
      tokens: saved.tokens,
      cost_usd: toUsd(saved.costMicros),
    },
    read_events: readEvents,
  };
}

function stopToWire({ taskId, runId, kind, at, value, limit }: Stop): JsonObject {
  return {
    ...(taskId === null ? {} : { task_id: toWire('task', taskId) }),
    ...(runId === null ? {} : { run_id: toWire('run', runId) }),
    kind,
    at: new Date(at).toISOString(),
    value: inUnits(kind, value),
    limit: inUnits(kind, limit),
  };
}

function proposalToWire({ limits, readEvents }: Proposal['result']): JsonObject {
  const units = ({ name }: ProposedLimit, value: number | null) =>
    value !== null && name.endsWith('Micros') ? toUsd(value) : value;
  const tasks = limits.find(({ name }) => name === 'maxReworks')?.sample ?? 0;
  const small = tasks < SMALL_SAMPLE;
  const note = small
    ? `Only ${tasks} finished tasks stand behind this; below ${SMALL_SAMPLE} it is no more than a first guess.`
    : `${tasks} finished tasks stand behind this.`;
  return {
    stopped: [],
    stopped_count: 0,
    saved: { iterations: 0, reworks: 0, tokens: 0, cost_usd: 0 },
    read_events: readEvents,
    proposal: {
      limits: Object.fromEntries(
        limits.flatMap((one) =>
          one.limit === null ? [] : [[limitWireName(one.name), units(one, one.limit)]],
        ),
      ),
      basis: Object.fromEntries(
        limits.map((one) => [limitWireName(one.name), { p95: units(one, one.p95), sample: one.sample }]),
      ),
      sample: tasks,
      small_sample: small,
      note,
    },
  };
}
