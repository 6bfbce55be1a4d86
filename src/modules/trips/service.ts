import type { Pool } from '../../db/statement.js';
import type { Actor } from '../../kernel/actor.js';
import type { Answer } from '../../kernel/answer.js';
import type { Clock } from '../../kernel/clock.js';
import { toWire } from '../../kernel/ids.js';
import { type Page, type PageRequest, toPage } from '../../kernel/page.js';
import { ok, type Refusal, type Result, refuse } from '../../kernel/refusal.js';
import type { Idempotency, RequestContext } from '../../kernel/request.js';
import type { Trip } from '../guard/types.js';
import { databaseNow } from '../projects/index.js';
import type { AnyCommand } from '../tasks/types.js';
import { commandFor, type Recovery } from './command.js';
import { type StrategyRecord, tally } from './decide/recommend.js';
import { EVENTS_READ, MOMENTS_MAX } from './decide/timeline.js';
import { diagnose } from './diagnose.js';
import { agentNames, loadAttemptFacts, runLog, taskLog } from './history-store.js';
import { type Report, reportOf } from './report.js';
import { lastClosedTrips, listTrips, loadSubject, loadTrip } from './store.js';
import type { AttemptFacts, ClosedTrip, DiagnosisCode, LogEntry, TripFilter } from './types.js';

/** A command and who sends it by which request. */
export interface SentCommand {
  readonly actor: Actor;
  readonly command: AnyCommand;
  readonly idempotency: Idempotency | null;
  readonly request: RequestContext;
  /** The trip that is to be told with the answer. */
  readonly tripId?: string;
}

/** What the trips room needs. */
export interface TripsDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  /** The pipeline: the only way by which a trip is lifted. */
  readonly send: (command: SentCommand) => Promise<Answer>;
}

/** Who recovers what, and by which request. */
export interface RecoverRequest extends Omit<SentCommand, 'command'> {
  readonly tripId: string;
  readonly recovery: Recovery;
}

/** A trip as its recovery left it, and its task or run, as JSON. */
export interface Recovered {
  readonly body: string;
  readonly replayed: boolean;
}

/** So many closed trips make the statistics: the last ones. */
export const STATS_TRIPS = 1_000;
/** Trips whose attempts are read together, so that a large history is never in memory at once. */
const STATS_CHUNK = 100;
/** Closed trips whose diagnosis is remembered: it never changes, so it is made once a process. */
const REMEMBERED_MAX = 20_000;
/** How far back the last events of a run are looked for among those of its whole project. */
const RUN_LOOK_BACK = 10_000;
/** How often a recovery is sent again because the task changed while it was on its way. */
const RECOVER_TRIES = 3;

/** The trips room: reports, what helped before, and recovery. It writes nothing by itself. */
export class Trips {
  private readonly diagnosed = new Map<string, DiagnosisCode>();

  constructor(private readonly deps: TripsDeps) {}

  /** A page of trips, newest first. */
  async list(projectId: string, filter: TripFilter, page: PageRequest): Promise<Page<Trip>> {
    const rows = await listTrips(this.deps.pool, projectId, filter, page);
    return toPage(rows, page.limit, (trip) => trip.id);
  }

  /** A trip with its report, made anew from what is there now. */
  async report(projectId: string, tripId: string): Promise<Result<Report>> {
    const { pool, clock } = this.deps;
    const trip = await loadTrip(pool, projectId, tripId);
    if (trip === null) return missing(tripId);
    const [now, subject, records] = await Promise.all([
      databaseNow(pool, clock.offsetMs()),
      loadSubject(pool, projectId, trip),
      this.records(projectId),
    ]);
    const [attempts, { entries: log, earlier }] = await Promise.all([
      this.attemptsBehind(projectId, trip, now),
      this.logBehind(projectId, trip, now),
    ]);
    const names = await agentNames(pool, projectId, agentsIn(attempts, log));
    return ok(reportOf({ trip, subject, attempts, log, earlier, names, records, now }));
  }

  /** How each strategy did, by kind and diagnosis. */
  async records(projectId: string): Promise<readonly StrategyRecord[]> {
    const closed = await lastClosedTrips(this.deps.pool, projectId, STATS_TRIPS);
    await this.diagnoseAll(projectId, closed);
    return tally(closed.map((trip) => ({ trip, diagnosis: this.diagnosed.get(trip.id) ?? 'none' })));
  }

  /** Lifts a trip, by the same command and the same rules as an unblock, a cancel or a run's recover. */
  async recover(request: RecoverRequest): Promise<Result<Recovered>> {
    const { actor, tripId, recovery, idempotency } = request;
    const { pool } = this.deps;
    for (let attempt = 1; ; attempt += 1) {
      const trip = await loadTrip(pool, actor.projectId, tripId);
      if (trip === null) return missing(tripId);
      const subject = await loadSubject(pool, actor.projectId, trip);
      if (subject === null) return refused(notByHand(trip));
      const isOver = trip.state === 'closed' || subject.openTripId !== trip.id;
      if (isOver && idempotency === null) return refused(isClosed(trip));
      // No task is at version 0: of a trip that is over, only an answer kept for the same key can come back.
      const command = commandFor(subject, recovery, isOver ? 0 : subject.version);
      if (!command.ok) return command;
      const answer = await this.deps.send({ ...request, command: command.value });
      if (answer.kind === 'none') throw new Error('a recovery was answered with nothing');
      if (answer.kind !== 'refused') {
        const { body, replayed } = answer;
        return ok({ body, replayed });
      }
      const { refusal } = answer;
      if (refusal.code !== 'stale_version') return refused(refusal);
      if (isOver) return refused(isClosed(trip));
      if (attempt === RECOVER_TRIES) return refused(refusal);
    }
  }

  private async attemptsBehind(projectId: string, trip: Trip, now: number): Promise<AttemptFacts[]> {
    if (trip.scope !== 'task' || trip.taskId === null) return [];
    const wanted = [{ taskId: trip.taskId, before: trip.closedAt ?? now + 1 }];
    const [attempts] = await loadAttemptFacts(this.deps.pool, projectId, wanted);
    return attempts ?? [];
  }

  private async logBehind(
    projectId: string,
    trip: Trip,
    now: number,
  ): Promise<{ readonly entries: readonly LogEntry[]; readonly earlier: number }> {
    const { pool } = this.deps;
    const until = trip.closedAt ?? now;
    if (trip.scope === 'task' && trip.taskId !== null)
      return taskLog(pool, projectId, trip.taskId, until, EVENTS_READ);
    if (trip.scope !== 'run' || trip.runId === null) return { entries: [], earlier: 0 };
    // What a tripped run does afterwards is only what was in flight: what led to the trip is told.
    const bounds = { limit: MOMENTS_MAX, lookBack: RUN_LOOK_BACK };
    return { entries: await runLog(pool, projectId, trip.runId, trip.openedAt, bounds), earlier: 0 };
  }

  private async diagnoseAll(projectId: string, closed: readonly ClosedTrip[]): Promise<void> {
    const unknown = closed.filter(({ id, scope }) => scope === 'task' && !this.diagnosed.has(id));
    for (let from = 0; from < unknown.length; from += STATS_CHUNK) {
      const chunk = unknown.slice(from, from + STATS_CHUNK);
      const wanted = chunk.map(({ taskId, closedAt }) => ({ taskId: taskId ?? '', before: closedAt }));
      const histories = await loadAttemptFacts(this.deps.pool, projectId, wanted);
      chunk.forEach((trip, i) => {
        const [{ code }] = diagnose({ trip, acceptance: [], attempts: histories[i] ?? [] });
        this.remember(trip.id, code);
      });
    }
  }

  private remember(tripId: string, code: DiagnosisCode): void {
    const [oldest] = this.diagnosed.keys();
    if (this.diagnosed.size >= REMEMBERED_MAX && oldest !== undefined) this.diagnosed.delete(oldest);
    this.diagnosed.set(tripId, code);
  }
}

function agentsIn(attempts: readonly AttemptFacts[], log: readonly LogEntry[]): string[] {
  const ids = [
    ...attempts.flatMap(({ agentId, verdict }) => [agentId, verdict?.by ?? null]),
    ...log.map(({ agentId }) => agentId),
  ];
  return [...new Set(ids.filter((id) => id !== null))];
}

function refused(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}

function missing(tripId: string) {
  return refuse(
    'not_found',
    `There is no trip ${toWire('trip', tripId)} in this project. List what there is with GET /v1/trips.`,
    { nextActions: [{ call: 'list_trips' }] },
  );
}

function isClosed(trip: Trip): Refusal {
  const { resolution } = trip;
  const how =
    resolution === null
      ? 'closed'
      : `closed by ${resolution.strategy} (${resolution.by.role}): “${resolution.reason}”`;
  return {
    code: 'invalid_transition',
    detail: `This trip was already ${how}. There is nothing left to recover here.`,
    retryable: false,
    facts: { state: 'closed', strategy: resolution?.strategy ?? null, reason: resolution?.reason ?? null },
    nextActions: [{ call: 'get_trip', on: { kind: 'trip', id: trip.id } }],
  };
}

function notByHand(trip: Trip): Refusal {
  return {
    code: 'invalid_transition',
    detail: `The ${trip.kind} breaker is closed by the success of its probe, or by an operator; not by recovering its trip.`,
    retryable: false,
    facts: { state: trip.state },
    nextActions: [{ call: 'list_breakers', role: 'operator' }],
  };
}
