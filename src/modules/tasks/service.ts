import type { Pool } from '../../db/statement.js';
import type { Actor } from '../../kernel/actor.js';
import type { Answer } from '../../kernel/answer.js';
import type { Clock } from '../../kernel/clock.js';
import { fromWire, type NewId } from '../../kernel/ids.js';
import type { Json, JsonObject } from '../../kernel/json.js';
import type { Log } from '../../kernel/log.js';
import { type Page, toPage } from '../../kernel/page.js';
import { ok, type Refusal, type Result } from '../../kernel/refusal.js';
import type { RequestContext } from '../../kernel/request.js';
import { evaluate } from '../guard/evaluate.js';
import {
  effectiveLimits,
  effectiveRunLimits,
  LIMIT_ORIGINS,
  originOf,
  ownLimitsOf,
  type ServerLimits,
} from '../guard/limits.js';
import type { Verdict as GuardVerdict, OwnLimits, TaskLimits } from '../guard/types.js';
import { limitsToWire, tripToWire, verdictToWire } from '../guard/wire.js';
import { loadHead, loadRules } from '../projects/index.js';
import type { Policies } from '../projects/types.js';
import { loadRuns } from '../runs/index.js';
import type { Run } from '../runs/types.js';
import { type Brief, briefToMarkdown, briefToWire } from './brief.js';
import { notFound } from './decide/refusals.js';
import { guardInputOf } from './decide/settle.js';
import type { Committed, Envelope } from './envelope.js';
import { Pipeline } from './pipeline.js';
import { Rescuer } from './rescuer.js';
import { loadDue, loadTasks } from './store.js';
import {
  CLAIMABLE_LOOKED_AT,
  countClaimable,
  listAttempts,
  listTasks,
  pageOfAttempts,
  type TaskFilter,
} from './store-read.js';
import type { Attempt, ClaimPurpose, Task } from './types.js';
import { Waiters } from './waiters.js';
import { attemptToWire, taskToWire, time } from './wire.js';

/** What the tasks room needs. */
export interface TasksDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly limits: ServerLimits;
  readonly policies: Policies;
  readonly batchMax: number;
  readonly log: Log;
  /** Told after each commit, for streams, metrics and other processes. */
  readonly onCommit: (commit: Committed) => void;
}

/** How long a waiting claim trusts that it would have been woken. */
const LOOK_AGAIN_MS = 5_000;

/** A task with what its limits come from. */
interface Seen {
  readonly task: Task;
  readonly run: Run;
  readonly projectLimits: OwnLimits;
  readonly limits: TaskLimits;
}

/** The tasks room: commands go through the pipeline, reads straight to the database. */
export class Tasks {
  private readonly pipeline: Pipeline;
  private readonly waiters = new Waiters();
  private readonly rescuer: Rescuer;

  constructor(private readonly deps: TasksDeps) {
    const { pool, clock, newId, log } = deps;
    this.pipeline = new Pipeline({
      pool,
      clock,
      newId,
      server: deps.limits,
      policies: deps.policies,
      batchMax: deps.batchMax,
      onCommit: (commit) => this.committed(commit),
    });
    this.rescuer = new Rescuer({
      loadDue: (offsetMs, limit) => loadDue(pool, offsetMs, limit),
      send: (envelope) => this.pipeline.send(envelope),
      clock,
      newTrace: () => serverTrace(newId),
      log,
    });
  }

  /** Begins to look after leases. */
  start(): void {
    this.rescuer.start();
  }

  /** Answers every waiting claim, commits what is in flight, and stops. */
  async close(): Promise<void> {
    this.waiters.close();
    await this.rescuer.stop();
    await this.pipeline.drain();
  }

  /** Sends a command; the answer is complete, and what it changed durable. */
  send(envelope: Envelope): Promise<Answer> {
    return this.pipeline.send(envelope);
  }

  /** Sends a claim; where there is nothing, waits for work without holding anything, until `waitMs` have passed. */
  async claim(envelope: Envelope, waitMs: number, signal: AbortSignal): Promise<Answer> {
    const { projectId } = envelope.actor;
    const until = performance.now() + waitMs;
    for (;;) {
      const place = this.waiters.stand(projectId);
      const answer = await this.pipeline.send(envelope).catch((error: unknown) => {
        place.leave();
        throw error;
      });
      const left = until - performance.now();
      const goesOn = answer.kind === 'none' && left > 0 && !signal.aborted && !this.waiters.isClosed;
      if (!goesOn) place.leave();
      // It may have been woken for what it did not take: the next one looks.
      this.waiters.passOn(projectId);
      if (!goesOn) return answer;
      await place.wait(Math.min(left, LOOK_AGAIN_MS), signal);
      if (signal.aborted) {
        this.waiters.passOn(projectId);
        return { kind: 'none' };
      }
    }
  }

  /** Looks once at every lease and waiting time that has passed. */
  sweep(): Promise<void> {
    return this.rescuer.sweep();
  }

  /** Another process has changed this project: there may be work. */
  heard(projectId: string): void {
    this.waiters.offer(projectId, Number.POSITIVE_INFINITY);
  }

  private committed(commit: Committed): void {
    if (commit.offered > 0) this.waiters.offer(commit.projectId, commit.offered);
    this.rescuer.hear(commit);
    this.deps.onCommit(commit);
  }

  async list(
    projectId: string,
    filter: TaskFilter,
    page: { limit: number; after: string | null },
  ): Promise<Page<JsonObject>> {
    const rows = await listTasks(this.deps.pool, projectId, filter, page);
    const { data, nextCursor } = toPage(rows, page.limit, (task) => task.id);
    const seen = await this.withLimits(projectId, data);
    return { data: seen.map(({ task, limits }) => taskToWire(task, limits)), nextCursor };
  }

  async get(
    projectId: string,
    taskId: string,
  ): Promise<Result<{ readonly body: JsonObject; readonly version: number }>> {
    const seen = await this.see(projectId, taskId);
    return seen.ok
      ? ok({ body: taskToWire(seen.value.task, seen.value.limits), version: seen.value.task.version })
      : seen;
  }

  async attempts(
    projectId: string,
    taskId: string,
    page: { limit: number; after: number },
  ): Promise<Result<Page<JsonObject>>> {
    const seen = await this.see(projectId, taskId);
    if (!seen.ok) return seen;
    const rows = await pageOfAttempts(this.deps.pool, projectId, taskId, page);
    const { data, nextCursor } = toPage(rows, page.limit, (attempt: Attempt) => String(attempt.number));
    return ok({ data: data.map(attemptToWire), nextCursor });
  }

  /** Evaluates every limit of a task without acting, and says where each limit comes from. */
  async guard(projectId: string, taskId: string): Promise<Result<JsonObject>> {
    const seen = await this.see(projectId, taskId);
    if (!seen.ok) return seen;
    const { task, run, projectLimits, limits } = seen.value;
    const origins: JsonObject = {};
    for (const [name, value] of Object.entries(limitsToWire(limits))) {
      const own = OWN_NAMES[name];
      origins[name] = {
        value: value ?? null,
        from: own === undefined ? LIMIT_ORIGINS[3] : originOf(own, task.limits, run.limits, projectLimits),
      };
    }
    const { trip } = task.memory;
    return ok({
      task_id: taskToWire(task, limits).id ?? null,
      state: task.state,
      ...verdictToWire(await this.verdict(projectId, seen.value)),
      limits: origins,
      trip: trip === null ? null : tripToWire(trip),
      run_trip: run.memory.trip === null ? null : tripToWire(run.memory.trip),
    });
  }

  /** What an agent should read before it starts. */
  async brief(
    projectId: string,
    taskId: string,
  ): Promise<Result<{ readonly json: JsonObject; readonly markdown: string }>> {
    const seen = await this.see(projectId, taskId);
    if (!seen.ok) return seen;
    const { task, limits } = seen.value;
    const attempts = await listAttempts(this.deps.pool, projectId, taskId);
    const brief: Brief = { task, limits, attempts, guard: await this.verdict(projectId, seen.value) };
    return ok({ json: briefToWire(brief), markdown: briefToMarkdown(brief) });
  }

  /** The claims of an answer, each with its brief. */
  async withBriefs(projectId: string, answer: Answer): Promise<Answer> {
    if (answer.kind !== 'done') return answer;
    const given: JsonObject = JSON.parse(answer.body);
    const withBrief = async (claim: Json): Promise<Json> => {
      const taskId = claimedTask(claim);
      const brief = taskId === null ? null : await this.brief(projectId, taskId);
      return isObject(claim) && brief?.ok === true ? { ...claim, brief: brief.value.json } : claim;
    };
    const filled = Array.isArray(given.claims)
      ? { ...given, claims: await Promise.all(given.claims.map(withBrief)) }
      : await withBrief(given);
    return { ...answer, body: JSON.stringify(filled) };
  }

  /** What the caller could claim now, and why not more. Changes nothing. */
  async claimable(actor: Actor, purpose: ClaimPurpose): Promise<JsonObject> {
    const counts = await countClaimable(this.deps.pool, actor.projectId, actor.agentId ?? '', purpose);
    const { claimable, in_progress, in_review, counted, next_ready_at, ...why } = counts;
    return {
      for: purpose,
      claimable,
      in_progress,
      in_review,
      why_not: why,
      next_ready_at: next_ready_at === null ? null : time(next_ready_at.getTime()),
      counted_all: counted < CLAIMABLE_LOOKED_AT,
    };
  }

  private async verdict(
    projectId: string,
    { task, run, limits, projectLimits }: Seen,
  ): Promise<GuardVerdict> {
    const head = await loadHead(this.deps.pool, projectId, this.deps.clock.offsetMs(), false);
    return evaluate(
      guardInputOf(
        task,
        limits,
        run,
        effectiveRunLimits(run.limits, projectLimits, this.deps.limits),
        head?.now ?? task.updatedAt,
      ),
    );
  }

  private async see(projectId: string, taskId: string): Promise<Result<Seen>> {
    const [seen] = await this.withLimits(projectId, await loadTasks(this.deps.pool, projectId, [taskId]));
    return seen === undefined ? missing(notFound(taskId)) : ok(seen);
  }

  private async withLimits(projectId: string, tasks: readonly Task[]): Promise<Seen[]> {
    if (tasks.length === 0) return [];
    const { pool, limits: server } = this.deps;
    const runIds = [...new Set(tasks.map((task) => task.runId))];
    const [runs, rules] = await Promise.all([loadRuns(pool, projectId, runIds), loadRules(pool, projectId)]);
    const byId = new Map(runs.map((run) => [run.id, run]));
    const projectLimits = ownLimitsOf(rules.limits);
    return tasks.flatMap((task) => {
      const run = byId.get(task.runId);
      if (run === undefined) return [];
      return [
        { task, run, projectLimits, limits: effectiveLimits(task.limits, run.limits, projectLimits, server) },
      ];
    });
  }
}

const OWN_NAMES: Readonly<Record<string, keyof ServerLimits>> = {
  max_reworks: 'maxReworks',
  max_errors: 'maxErrors',
  max_tokens: 'maxTokens',
  max_cost_usd: 'maxCostMicros',
  max_review_failures: 'maxReviewFailures',
  max_attempts: 'maxAttempts',
  max_unblocks: 'maxUnblocks',
  reassign_after: 'reassignAfter',
  max_attempt_seconds: 'maxAttemptSeconds',
};

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function claimedTask(claim: Json): string | null {
  if (!isObject(claim) || !isObject(claim.task) || typeof claim.task.id !== 'string') return null;
  return fromWire('task', claim.task.id);
}

function missing(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}

/** The server's own commands have a request of their own in the log. */
function serverTrace(newId: NewId): RequestContext {
  const id = newId();
  return { requestId: `server-${id}`, traceId: id.replaceAll('-', '') };
}
