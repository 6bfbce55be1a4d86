import type { Pool } from '../../db/statement.js';
import type { Actor } from '../../kernel/actor.js';
import type { Answer } from '../../kernel/answer.js';
import { toWire } from '../../kernel/ids.js';
import type { JsonObject } from '../../kernel/json.js';
import { type Page, toPage } from '../../kernel/page.js';
import { ok, type Result, refuse } from '../../kernel/refusal.js';
import type { Idempotency, RequestContext } from '../../kernel/request.js';
import { effectiveLimits, effectiveRunLimits, ownLimitsOf, type ServerLimits } from '../guard/limits.js';
import type { OwnLimits } from '../guard/types.js';
import { loadRules } from '../projects/index.js';
import { listRuns, loadRuns } from './store.js';
import type { Run, RunCommand } from './types.js';
import { runToWire } from './wire.js';

/** A command on a run, and who sends it by which request. */
export interface RunRequest {
  readonly actor: Actor;
  readonly command: RunCommand;
  readonly idempotency: Idempotency | null;
  readonly request: RequestContext;
}

/** What the runs room needs. */
export interface RunsDeps {
  readonly pool: Pool;
  readonly limits: ServerLimits;
  /** The pipeline, by which runs change together with the tasks in them. */
  readonly send: (request: RunRequest) => Promise<Answer>;
}

/** The runs room: commands go through the pipeline, reads straight to the database. */
export class Runs {
  constructor(private readonly deps: RunsDeps) {}

  /** Sends a command; the answer is complete, and what it changed durable. */
  send(request: RunRequest): Promise<Answer> {
    return this.deps.send(request);
  }

  /** One run, and the version for its ETag. */
  async get(
    projectId: string,
    runId: string,
  ): Promise<Result<{ readonly body: JsonObject; readonly version: number }>> {
    const [[run], limits] = await Promise.all([
      loadRuns(this.deps.pool, projectId, [runId]),
      this.projectLimits(projectId),
    ]);
    if (run === undefined) {
      return refuse(
        'not_found',
        `There is no run ${toWire('run', runId)} in this project. List what there is with GET /v1/runs.`,
        {
          nextActions: [{ call: 'list_runs' }],
        },
      );
    }
    return ok({ body: this.onWire(run, limits), version: run.version });
  }

  /** A page of runs, newest first. */
  async list(projectId: string, page: { limit: number; after: string | null }): Promise<Page<JsonObject>> {
    const [rows, limits] = await Promise.all([
      listRuns(this.deps.pool, projectId, page),
      this.projectLimits(projectId),
    ]);
    const { data, nextCursor } = toPage(rows, page.limit, (run) => run.id);
    return { data: data.map((run) => this.onWire(run, limits)), nextCursor };
  }

  private async projectLimits(projectId: string): Promise<OwnLimits> {
    return ownLimitsOf((await loadRules(this.deps.pool, projectId)).limits);
  }

  private onWire(run: Run, project: OwnLimits): JsonObject {
    const { limits: server } = this.deps;
    return runToWire(
      run,
      effectiveRunLimits(run.limits, project, server),
      effectiveLimits({}, run.limits, project, server),
    );
  }
}
