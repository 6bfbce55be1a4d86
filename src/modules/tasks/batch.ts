import type { Statement } from '../../db/statement.js';
import { type Answer, versionIn } from '../../kernel/answer.js';
import type { NewId } from '../../kernel/ids.js';
import { appendEvents, type CommitMark, type CommittedEvent } from '../events/index.js';
import { writeBreakers, writeTrips } from '../guard/index.js';
import type { ServerLimits } from '../guard/limits.js';
import type { Breaker, Trip } from '../guard/types.js';
import { advance, type KeptAnswer, keepAnswers } from '../projects/index.js';
import type { Policies } from '../projects/types.js';
import { writeRuns } from '../runs/index.js';
import { answerOf } from './answer.js';
import type { Board } from './board.js';
import type { AttemptWrite, Draft } from './decide/draft.js';
import { placementOf } from './decide/machine.js';
import { decide } from './decide.js';
import { type Committed, type Envelope, keptId } from './envelope.js';
import { insertAttempts, updateAttempts } from './store/write-attempts.js';
import { deleteEdges, insertEdges } from './store/write-edges.js';
import { editTasks, insertTasks, writeTasks } from './store/write-tasks.js';
import type { Task } from './types.js';

/** Commands decided together over one board, and all the rows they change. */
export class Batch {
  readonly answers: Answer[] = [];
  private readonly tasks = new Map<string, { readonly before: Task | null }>();
  private readonly runs = new Set<string>();
  private readonly trips = new Map<string, Trip>();
  private readonly breakers = new Map<string, Breaker>();
  private readonly attempts = new Map<string, AttemptWrite>();
  private readonly events: CommittedEvent[] = [];
  /** Who waits for whom after the batch, of those whose waiting it changed. */
  private readonly edges = new Map<
    string,
    { readonly edge: Draft['edges'][number]; readonly waits: boolean }
  >();
  private readonly toKeep: KeptAnswer[] = [];
  /** A run was recovered or a breaker closed: however many tasks it held back may be claimed again. */
  private reopened = false;
  private readonly base: { readonly revision: number; readonly position: number };

  constructor(
    private readonly board: Board,
    private readonly rules: {
      readonly server: ServerLimits;
      readonly newId: NewId;
      readonly policies: Policies;
    },
    private readonly kept: Map<string, KeptAnswer>,
  ) {
    this.base = { revision: board.revision, position: board.position };
  }

  get isEmpty(): boolean {
    return this.tasks.size === 0 && this.runs.size === 0 && this.events.length === 0;
  }

  get mark(): CommitMark {
    const [first] = this.events;
    return { projectId: this.board.projectId, position: first?.position ?? 0, eventId: first?.id ?? null };
  }

  /**
   * Decides one command and makes its change visible to the next; or asks for more of its queue, of which it has already
   * looked at `looks` loads.
   */
  decide(envelope: Envelope, looks: number): 'decided' | 'look further' {
    const { board, rules } = this;
    const { command, actor, idempotency } = envelope;
    const replay =
      idempotency === null || actor.agentId === null ? null : this.replay(actor.agentId, idempotency);
    if (replay !== null) {
      this.answers.push(replay);
      return 'decided';
    }
    board.see(actor);
    const decision = decide(
      {
        view: board,
        now: board.now,
        actor,
        project: { limits: board.limits },
        server: rules.server,
        policies: { ...rules.policies, ...board.policies },
        newId: rules.newId,
      },
      command,
    );
    if (
      command.type === 'claim_next' &&
      decision.outcome.kind === 'claims' &&
      decision.outcome.claims.length < command.max
    ) {
      if (
        board.windows.wantsMore(
          {
            purpose: command.purpose,
            runId: command.runId,
            labels: command.labels,
            agentId: actor.agentId,
          },
          looks,
        )
      )
        return 'look further';
    }
    const answer = answerOf(decision, envelope);
    if (!decision.draft.isEmpty) {
      this.take(decision.draft, envelope);
      if (
        idempotency !== null &&
        actor.agentId !== null &&
        (answer.kind === 'done' || answer.kind === 'created')
      ) {
        const { key, route, requestHash } = idempotency;
        const kept = {
          agentId: actor.agentId,
          route,
          key,
          requestHash,
          kind: answer.kind,
          answer: answer.body,
        };
        this.kept.set(keptId(kept), kept);
        this.toKeep.push(kept);
      }
    }
    this.answers.push(answer);
    return 'decided';
  }

  private replay(
    agentId: string,
    wanted: { route: string; key: string; requestHash: string },
  ): Answer | null {
    const kept = this.kept.get(keptId({ agentId, ...wanted }));
    if (kept === undefined) return null;
    if (kept.requestHash === wanted.requestHash)
      return { kind: kept.kind, body: kept.answer, version: versionIn(kept.answer), replayed: true };
    return {
      kind: 'refused',
      refusal: {
        code: 'idempotency_key_reused',
        detail:
          'This Idempotency-Key was already used for another request. Use a new key for each new command, the same key only to send one again.',
        retryable: false,
      },
    };
  }

  private take(draft: Draft, envelope: Envelope): void {
    const { board } = this;
    for (const task of draft.tasks.values()) {
      if (!this.tasks.has(task.id)) this.tasks.set(task.id, { before: board.known(task.id) });
      this.runs.add(task.runId);
    }
    for (const [id, run] of draft.runs) {
      this.runs.add(id);
      this.reopened ||= run.state === 'open' && board.run(id)?.state === 'tripped';
    }
    board.apply(draft);
    for (const trip of draft.trips.values()) this.trips.set(trip.id, trip);
    for (const breaker of draft.breakers.values()) this.breakers.set(breaker.id, breaker);
    for (const write of draft.attempts) {
      const key = `${write.taskId}|${write.number}`;
      const known = this.attempts.get(key);
      this.attempts.set(key, { ...known, ...write, ...firstLateResult(known) });
    }
    for (const event of draft.events) {
      const position = this.base.position + this.events.length + 1;
      this.events.push({ event, id: this.rules.newId(), position, at: board.now, request: envelope.request });
    }
    for (const edge of draft.droppedEdges) this.edges.set(edgeKey(edge), { edge, waits: false });
    for (const edge of draft.edges) this.edges.set(edgeKey(edge), { edge, waits: true });
  }

  /** The whole batch as statements, the compare-and-set first: where it fails, nothing after it counts. */
  statements(): [Statement, ...Statement[]] {
    const { projectId, now } = this.board;
    const changed = [...this.tasks].map(([id, { before }]) => ({ before, after: this.board.latest(id) }));
    const fresh = changed.filter(({ before }) => before === null).map(({ after }) => after);
    const known = changed.filter(({ before }) => before !== null).map(({ after }) => after);
    const edited = changed
      .filter(({ before, after }) => before !== null && isEdited(before, after))
      .map(({ after }) => after);
    const edges = [...this.edges.values()];
    const added = edges.filter(({ waits }) => waits).map(({ edge }) => edge);
    const dropped = edges.filter(({ waits }) => !waits).map(({ edge }) => edge);
    const runs = [...this.runs].map((id) => this.board.run(id)).filter((run) => run !== null);
    const attempts = [...this.attempts.values()];
    const opened = attempts.filter((attempt) => attempt.claimedAt !== undefined);
    const ended = attempts.filter((attempt) => attempt.claimedAt === undefined);
    const statements: [Statement, ...Statement[]] = [
      advance(projectId, this.base.revision, this.events.length),
    ];
    if (runs.length > 0) statements.push(writeRuns(projectId, runs));
    // What was there goes first: a key that it gives up may be taken by one that is new.
    if (edited.length > 0) statements.push(editTasks(projectId, edited));
    if (known.length > 0) statements.push(writeTasks(projectId, known, now));
    if (fresh.length > 0)
      statements.push(insertTasks(projectId, fresh, now), writeTasks(projectId, fresh, now));
    if (opened.length > 0) statements.push(insertAttempts(projectId, opened));
    if (ended.length > 0) statements.push(updateAttempts(projectId, ended));
    if (this.trips.size > 0) statements.push(writeTrips(projectId, [...this.trips.values()]));
    if (this.breakers.size > 0) statements.push(writeBreakers(projectId, [...this.breakers.values()]));
    if (dropped.length > 0) statements.push(deleteEdges(projectId, dropped));
    if (added.length > 0) statements.push(insertEdges(projectId, added));
    if (this.events.length > 0) statements.push(appendEvents(projectId, this.events));
    if (this.toKeep.length > 0) statements.push(keepAnswers(projectId, this.toKeep, now));
    return statements;
  }

  /** Whether no row is written by two of the statements, so that they may be one. */
  get isFlat(): boolean {
    return (
      this.edges.size === 0 &&
      [...this.tasks].every(([id, { before }]) => before !== null && !isEdited(before, this.board.latest(id)))
    );
  }

  /** After the commit: the board is at the next revision, at the time that the commit told. */
  finish(clock: Board['clock']): Committed {
    const { board } = this;
    board.clock = clock;
    const tasks = [...this.tasks.keys()].map((id) => board.latest(id));
    const placed = tasks.map((task) => placementOf(task, board.now));
    const due = placed.map(({ dueAt }) => dueAt).filter((at) => at !== null);
    board.revision = this.base.revision + 1;
    board.position = this.base.position + this.events.length;
    board.dropFinished(tasks);
    board.endBatch();
    return {
      projectId: board.projectId,
      events: this.events.length,
      offered: this.reopened ? Number.POSITIVE_INFINITY : placed.filter(({ queue }) => queue !== null).length,
      dueAt: due.length === 0 ? null : Math.min(...due),
      now: board.now + (performance.now() - board.nowSince),
    };
  }
}

function edgeKey({ taskId, dependsOnId }: Draft['edges'][number]): string {
  return `${taskId}|${dependsOnId}`;
}

/** A late result is kept as it first came. */
function firstLateResult(known: AttemptWrite | undefined): Pick<AttemptWrite, 'lateResult'> {
  return known?.lateResult === undefined ? {} : { lateResult: known.lateResult };
}

function isEdited(before: Task, after: Task): boolean {
  return (
    before.title !== after.title ||
    before.description !== after.description ||
    before.acceptance !== after.acceptance ||
    before.priority !== after.priority ||
    before.labels !== after.labels ||
    before.dependsOn !== after.dependsOn ||
    before.limits !== after.limits ||
    before.notBefore !== after.notBefore ||
    before.supersededBy !== after.supersededBy
  );
}
