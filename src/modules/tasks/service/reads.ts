import type { Pool } from '../../../db/statement.js';
import type { Actor } from '../../../kernel/actor.js';
import type { Answer } from '../../../kernel/answer.js';
import type { Clock } from '../../../kernel/clock.js';
import { fromWire, toWire } from '../../../kernel/ids.js';
import type { Json, JsonObject } from '../../../kernel/json.js';
import { type Page, toPage } from '../../../kernel/page.js';
import { ok, type Result } from '../../../kernel/refusal.js';
import { evaluate } from '../../guard/evaluate.js';
import {
  effectiveLimits,
  effectiveRunLimits,
  limitNames,
  originOf,
  ownLimitsOf,
  type ServerLimits,
} from '../../guard/limits.js';
import type { Verdict as GuardVerdict, OwnLimits, TaskLimits } from '../../guard/types.js';
import { limitsToWire, limitWireName, runLimitsToWire, tripToWire, verdictToWire } from '../../guard/wire.js';
import { loadHead, loadRules } from '../../projects/index.js';
import { loadRuns } from '../../runs/index.js';
import type { Run } from '../../runs/types.js';
import { type Brief, briefToMarkdown, briefToWire } from '../brief.js';
import { notFound } from '../decide/refusals.js';
import { guardInputOf } from '../decide/settle.js';
import {
  CLAIMABLE_LOOKED_AT,
  countClaimable,
  listAttempts,
  listTasks,
  pageOfAttempts,
  type TaskFilter,
} from '../store/read.js';
import { loadTasks } from '../store.js';
import type { ClaimPurpose, Task } from '../types.js';
import { attemptToWire, taskToWire, time } from '../wire.js';

/** What reading needs. */
export interface ReadsDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  /** The server's own. */
  readonly limits: ServerLimits;
}

/** A task with what its limits come from. */
interface Seen {
  readonly task: Task;
  readonly run: Run;
  readonly projectLimits: OwnLimits;
  readonly limits: TaskLimits;
}

/** What can be read of tasks: straight from the database, without a place in the pipeline. */
export class Reads {
  constructor(private readonly deps: ReadsDeps) {}

  /** A page of tasks, newest first. */
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

  /** One task, and the version for its ETag. */
  async get(
    projectId: string,
    taskId: string,
  ): Promise<Result<{ readonly body: JsonObject; readonly version: number }>> {
    const seen = await this.see(projectId, taskId);
    return seen.ok
      ? ok({ body: taskToWire(seen.value.task, seen.value.limits), version: seen.value.task.version })
      : seen;
  }

  /** A page of a task's attempts, first to last. */
  async attempts(
    projectId: string,
    taskId: string,
    page: { limit: number; after: number },
  ): Promise<Result<Page<JsonObject>>> {
    const seen = await this.see(projectId, taskId);
    if (!seen.ok) return seen;
    const rows = await pageOfAttempts(this.deps.pool, projectId, taskId, page);
    const { data, nextCursor } = toPage(rows, page.limit, (attempt) => String(attempt.number));
    return ok({ data: data.map(attemptToWire), nextCursor });
  }

  /** Evaluates every limit of a task without acting, and says where each limit comes from. */
  async guard(projectId: string, taskId: string): Promise<Result<JsonObject>> {
    const seen = await this.see(projectId, taskId);
    if (!seen.ok) return seen;
    const { task, run, projectLimits, limits } = seen.value;
    const origins: JsonObject = {};
    const runLimits = effectiveRunLimits(run.limits, projectLimits, this.deps.limits);
    const inForce = { ...limitsToWire(limits), ...runLimitsToWire(runLimits) };
    for (const name of limitNames()) {
      const value = inForce[limitWireName(name)];
      if (value === undefined) continue;
      const from = originOf(name, task.limits, run.limits, projectLimits);
      origins[limitWireName(name)] = { value, from };
    }
    const { trip } = task.memory;
    return ok({
      task_id: toWire('task', task.id),
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
    return seen === undefined ? { ok: false, refusal: notFound(taskId) } : ok(seen);
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

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function claimedTask(claim: Json): string | null {
  if (!isObject(claim) || !isObject(claim.task) || typeof claim.task.id !== 'string') return null;
  return fromWire('task', claim.task.id);
}
