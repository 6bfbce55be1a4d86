import { createPool } from '../../../src/db/pool.js';
import { rowsOf } from '../../../src/db/statement.js';
import { serverActor } from '../../../src/kernel/actor.js';
import { movableClock } from '../../../src/kernel/clock.js';
import { newId } from '../../../src/kernel/ids.js';
import { databaseNow, insertProject } from '../../../src/modules/projects/index.js';
import { newRun, writeRuns } from '../../../src/modules/runs/index.js';
import { createTasks, type Tasks } from '../../../src/modules/tasks/index.js';
import type { AnyCommand } from '../../../src/modules/tasks/types.js';
import { audit } from '../../support/audit.js';
import { POLICIES, SERVER } from '../../support/builders.js';
import { createTestDatabase } from '../../support/database.js';
import { bodyOf, codeOf } from '../../support/processes.js';
import { quietLog } from '../../support/server.js';
import { DEFAULT_RUN, EVERYBODY, type Person } from './cast.js';
import type { Rules } from './oracle/board.js';
import type { Word } from './oracle/model.js';

const TRACE = { requestId: 'history', traceId: '0'.repeat(32) };

/** A database, the service over it, and a clock of its own: many histories, one after another, each in a new project. */
export interface Stage {
  begin(rules: Rules): Promise<Play>;
  audit(): Promise<Record<string, readonly string[]>>;
  close(): Promise<void>;
}

/** One history's project, as the service has it. */
export interface Play {
  send(who: Person | null, command: AnyCommand): Promise<Word & { readonly body: Told | null }>;
  sweep(): Promise<void>;
  restart(): Promise<void>;
  pass(ms: number): void;
  /** Every row that the model has as well, a line each. */
  lines(): Promise<string>;
}

/** What an answer about one task says of it. */
export interface Told {
  readonly state: string;
  readonly attempt: number;
  readonly rework_count: number;
  readonly error_count: number;
  readonly tokens_used: number;
  readonly trip_count: number;
}

export async function openStage(): Promise<Stage> {
  const database = await createTestDatabase();
  const log = { info() {}, warn() {}, error() {} };
  const pool = createPool({ databaseUrl: database.url, poolSize: 4, statementTimeoutMs: 15_000 }, log);
  const clock = movableClock();
  const open = (): Tasks =>
    createTasks({
      pool,
      clock,
      newId,
      limits: SERVER,
      policies: POLICIES,
      batchMax: 64,
      log: quietLog,
      onCommit: () => undefined,
    });
  let tasks = open();

  const begin = async (rules: Rules): Promise<Play> => {
    const projectId = newId();
    const began = await databaseNow(pool, clock.offsetMs());
    const { fleetThreshold, fleetWindowSeconds, cooldownSeconds, maxAutoRecoveries } = rules;
    const policies = { fleetThreshold, fleetWindowSeconds, cooldownSeconds, maxAutoRecoveries };
    const project = {
      id: projectId,
      name: projectId,
      isDefault: false,
      limits: { ...rules.project },
      policies,
      version: 1,
      createdAt: began,
    };
    const run = {
      id: DEFAULT_RUN,
      name: 'default',
      limits: {},
      iterationMode: 'since_progress' as const,
      deadlineAt: null,
      isDefault: true,
    };
    await rowsOf(pool, insertProject(project, 0));
    await rowsOf(pool, writeRuns(projectId, [newRun(run, projectId, began)]));
    await pool.query(
      `INSERT INTO agents (project_id, id, name, roles, created_at, last_seen_at)
        SELECT $1, u.id, u.name, string_to_array(u.roles, ' '), $5, $5 FROM unnest($2::uuid[], $3::text[], $4::text[]) u (id, name, roles)`,
      [
        projectId,
        EVERYBODY.map(({ id }) => id),
        EVERYBODY.map(({ name }) => name),
        EVERYBODY.map(({ roles }) => roles.join(' ')),
        new Date(began),
      ],
    );
    return {
      async send(who, command) {
        const actor =
          who === null
            ? serverActor(projectId)
            : { projectId, agentId: who.id, name: who.name, roles: who.roles };
        const meant = inProject(command, projectId, began);
        const answer = await tasks.send({ actor, command: meant, idempotency: null, request: TRACE });
        const code = codeOf(answer);
        if (code !== 'done') return { code, body: null };
        const body = bodyOf(answer);
        if (body.claims !== undefined || body.lease_token !== undefined)
          return { code, claims: (body.claims ?? [body]).map(claimOf), body: null };
        if (body.directive !== undefined) return { code, directive: body.directive, body: null };
        return { code, body: body.rework_count === undefined ? null : body };
      },
      sweep: () => tasks.sweep(),
      async restart() {
        await tasks.close();
        tasks = open();
      },
      pass: (ms) => clock.advance(ms / 1000),
      async lines() {
        const values = [projectId, new Date(began)];
        const [row] = await rowsOf<{ lines: string }>(pool, { name: 'lines', text: LINES, values });
        return row?.lines ?? '';
      },
    };
  };

  return {
    begin,
    audit: () => audit(pool),
    async close() {
      await tasks.close();
      await pool.end();
      await database.drop();
    },
  };
}

interface WireClaim {
  readonly task: { readonly id: string };
  readonly lease_token: number;
  readonly attempt: number;
}
const claimOf = ({ task, lease_token: token, attempt }: WireClaim) => ({
  id: task.id.slice('task_'.length),
  token,
  attempt,
});

/** The command with what a history says of this project in the project's own terms: its fleet, and times since it began. */
function inProject(command: AnyCommand, projectId: string, began: number): AnyCommand {
  const at = (ms: number | null): number | null => (ms === null ? null : began + ms);
  switch (command.type) {
    case 'isolate_breaker':
    case 'close_breaker':
      return command.breakerId === 'fleet' ? { ...command, breakerId: projectId } : command;
    case 'create_run':
      return { ...command, run: { ...command.run, deadlineAt: at(command.run.deadlineAt) } };
    case 'create':
    case 'split':
      return {
        ...command,
        tasks: command.tasks.map((task) => ({ ...task, notBefore: at(task.notBefore) })),
      };
    case 'update': {
      const { notBefore } = command.edit;
      return notBefore === undefined
        ? command
        : { ...command, edit: { ...command.edit, notBefore: at(notBefore) } };
    }
    default:
      return command;
  }
}

/** Times in hundreds of seconds since the project began: what real time passes in between is less. */
const since = (column: string) => `floor(extract(epoch FROM ${column} - $2) / 100)`;
const trip = `coalesce(o.kind || '/' || o.severity || '/' || o.state, '-')`;
const LINES = `SELECT string_agg(line, E'\\n' ORDER BY line COLLATE "C") AS lines FROM (
  SELECT concat_ws(' ', t.id, t.state, 'block=' || coalesce(t.block_kind, '-'),
    'lease=' || coalesce(t.lease_kind || ':' || t.lease_agent || '@' || ${since('t.lease_expires_at')}, '-'), 'token=' || t.lease_token,
    'attempt=' || t.attempt, 'reworks=' || t.rework_count || '/' || t.rework_total, 'errors=' || t.error_count || '/' || t.error_total,
    'review_failures=' || t.review_failures, 'starts=' || t.attempts_since_unblock, 'tokens=' || t.tokens_used, 'cost=' || t.cost_micros,
    'unblocks=' || t.unblock_count, 'trips=' || t.trip_count, 'trip=' || ${trip},
    'ready=' || CASE WHEN t.state IN ('pending', 'rework', 'in_review') THEN ${since('t.ready_at')}::text ELSE '-' END,
    'unmet=' || CASE WHEN t.finished_at IS NULL THEN t.unmet::text ELSE '-' END,
    'run=' || t.run_id, 'superseded_by=' || coalesce(t.superseded_by::text, '-')) AS line
  FROM tasks t LEFT JOIN trips o ON o.project_id = t.project_id AND o.id = t.open_trip_id WHERE t.project_id = $1
  UNION ALL
  SELECT concat_ws(' ', r.id, r.state, 'iterations=' || r.iterations, 'tokens=' || r.tokens_used, 'cost=' || r.cost_micros,
    'recoveries=' || r.recover_count, 'trips=' || r.trip_count, 'trip=' || ${trip})
  FROM runs r LEFT JOIN trips o ON o.project_id = r.project_id AND o.id = r.open_trip_id WHERE r.project_id = $1
  UNION ALL
  SELECT concat_ws(' ', 'breaker', CASE WHEN id = $1 THEN 'fleet' ELSE id::text END, state, 'openings=' || openings,
    'probe=' || coalesce((probe->>'taskId') || '#' || (probe->>'attempt'), '-'))
  FROM breakers WHERE project_id = $1 AND state <> 'closed') l`;
