import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { jsonOrMarkdown } from '../../http/fields.js';
import { callerOf, listOf, pageIn, preferredType, sendJson, sendMarkdown } from '../../http/index.js';
import { toNextCalls } from '../../http/operations.js';
import { defined } from '../../kernel/defined.js';
import { type NewId, UUID } from '../../kernel/ids.js';
import { ok, type Result } from '../../kernel/refusal.js';
import { limitsIn } from '../guard/index.js';
import { tripToWire } from '../guard/wire.js';
import { createPlan } from '../tasks/index.js';
import type { Recovery } from './command.js';
import { reportToMarkdown } from './markdown.js';
import { reportToWire, type ToCall } from './report.js';
import * as out from './response.js';
import * as body from './schema.js';
import { STATS_TRIPS, type Trips } from './service.js';
import { simulateRoutes } from './simulate-routes.js';
import type { Simulator } from './simulator.js';
import { SAMPLE_MIN } from './types.js';

/** The routes of the trips room. */
export function tripsRoutes(app: FastifyInstance, trips: Trips, simulator: Simulator, newId: NewId): void {
  readRoutes(app, trips);
  recoveryRoutes(app, trips, newId);
  simulateRoutes(app, simulator);
}

function readRoutes(plain: FastifyInstance, trips: Trips): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  const toCall: ToCall = (action) => toNextCalls([action], plain.operations)[0] ?? null;
  app.get('/v1/trips', {
    config: { roles: ['planner'] },
    schema: {
      ...about('list_trips', 'List trips, newest first'),
      querystring: body.tripQuery,
      response: { 200: out.tripList },
    },
    async handler(request, reply) {
      const { state, kind, scope, task_id, run_id, severity } = request.query;
      const asked = pageIn(request.query, UUID);
      if (!asked.ok) return reply.refuse(asked.refusal);
      const filter = defined({ state, kind, scope, taskId: task_id, runId: run_id, severity });
      const page = await trips.list(callerOf(request).projectId, filter, asked.value);
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, page, tripToWire)));
    },
  });
  app.get('/v1/trips/:id', {
    config: { roles: ['planner'] },
    schema: {
      ...about('get_trip', 'Read a trip with its report (JSON, or Markdown by Accept)'),
      params: body.tripParams,
      response: { 200: jsonOrMarkdown(out.tripWithReport) },
    },
    async handler(request, reply) {
      const found = await trips.report(callerOf(request).projectId, request.params.id);
      if (!found.ok) return reply.refuse(found.refusal);
      const report = found.value;
      if (preferredType(request.headers.accept, ['application/json', 'text/markdown']) === 'text/markdown')
        return sendMarkdown(reply, reportToMarkdown(report, toCall));
      const answer = { ...tripToWire(report.trip), report: reportToWire(report, toCall) };
      return sendJson(reply, 200, JSON.stringify(answer));
    },
  });
  app.get('/v1/recoveries/stats', {
    config: { roles: ['planner', 'operator'] },
    schema: {
      ...about('get_recovery_stats', 'See which strategy helped, by kind of trip and diagnosis'),
      response: { 200: out.recoveryStats },
    },
    async handler(request, reply) {
      const records = await trips.records(callerOf(request).projectId);
      const answer = { data: records, sample_min: SAMPLE_MIN, looked_at: STATS_TRIPS };
      return sendJson(reply, 200, JSON.stringify(answer));
    },
  });
}

function recoveryRoutes(plain: FastifyInstance, trips: Trips, newId: NewId): void {
  plain.withTypeProvider<ZodTypeProvider>().post('/v1/trips/:id/recover', {
    // It sends `unblock`, or by trip and strategy `split`, `escalate`, `cancel` or `recover_run`, which the same roles may send.
    config: { roles: ['planner', 'operator'], command: 'unblock' },
    schema: {
      ...about('recover_trip', 'Recover from a trip: reset, adjust, split, terminate or escalate'),
      params: body.tripParams,
      body: body.recovery,
      response: { 200: out.recovered },
    },
    async handler(request, reply) {
      const recovery = recoveryIn(request.body, newId);
      if (!recovery.ok) return reply.refuse(recovery.refusal);
      const { tasks } = recovery.value;
      const charged = tasks.length === 0 ? null : request.chargeCreates(tasks.length);
      if (charged !== null) return reply.refuse(charged);
      return recover(request, reply, trips, request.params.id, recovery.value);
    },
  });
}

async function recover(
  request: FastifyRequest,
  reply: FastifyReply,
  trips: Trips,
  tripId: string,
  recovery: Recovery,
): Promise<FastifyReply> {
  const { idempotency, trace } = request;
  const actor = callerOf(request);
  const result = await trips.recover({ actor, tripId, recovery, idempotency, request: trace });
  if (!result.ok) return reply.refuse(result.refusal);
  const { body: answer, replayed } = result.value;
  if (replayed) reply.header('idempotency-replayed', 'true');
  return sendJson(reply, 200, answer);
}

function recoveryIn(given: z.output<typeof body.recovery>, newId: NewId): Result<Recovery> {
  const { changes } = given;
  const plan = createPlan({ run: null, run_id: null, tasks: given.tasks ?? [] }, newId);
  if (!plan.ok) return plan;
  return ok({
    strategy: given.strategy,
    reason: given.reason,
    assessment: given.assessment,
    changes: defined({
      description: changes.description,
      acceptance: changes.acceptance,
      limits: changes.limits === undefined ? undefined : limitsIn(changes.limits),
      dependsOn: changes.depends_on,
      excludedAgentId: changes.excluded_agent_id,
      assignedAgentId: changes.assigned_agent_id,
      deadlineAt: changes.deadline_at,
    }),
    resetTokens: given.reset_tokens,
    to: given.to,
    tasks: plan.value.tasks,
  });
}

function about(operationId: string, summary: string) {
  return { operationId, summary, tags: ['trips'] };
}
