import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { pageQuery } from '../../http/fields.js';
import {
  callerOf,
  listOf,
  pageIn,
  requiredVersionIn,
  sendAnswer,
  sendJson,
  sendVersioned,
  versionIn,
} from '../../http/index.js';
import { defined } from '../../kernel/defined.js';
import { type NewId, UUID } from '../../kernel/ids.js';
import { limitsIn } from '../guard/index.js';
import {
  newRunIn,
  runClosing,
  runEdit,
  runListOut,
  runOut,
  runParams,
  runRecovery,
  runStartIn,
} from './schema.js';
import type { Runs } from './service.js';
import { RUN_TRANSITIONS } from './transitions.js';
import type { RunCommand, RunCommandType } from './types.js';

/** The routes of the runs room. */
export function runsRoutes(app: FastifyInstance, runs: Runs, newId: NewId): void {
  writeRoutes(app, runs, newId);
  readRoutes(app, runs);
}

function writeRoutes(plain: FastifyInstance, runs: Runs, newId: NewId): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.post('/v1/runs', {
    config: declared('create_run'),
    schema: { ...about('create_run', 'Begin a run'), body: newRunIn, response: { 201: runOut } },
    async handler(request, reply) {
      const run = runStartIn(request.body, newId());
      return send(request, reply, runs, { type: 'create_run', run });
    },
  });
  app.patch('/v1/runs/:id', {
    config: { ...declared('update_run'), headers: ['if-match'] },
    schema: {
      ...about('update_run', "Change a run's name, budgets or deadline"),
      params: runParams,
      body: runEdit,
      response: { 200: runOut },
    },
    async handler(request, reply) {
      const version = requiredVersionIn(request);
      if (!version.ok) return reply.refuse(version.refusal);
      const { name, limits, deadline_at } = request.body;
      const edit = defined({
        name,
        limits: limits === undefined ? undefined : limitsIn(limits),
        deadlineAt: deadline_at,
      });
      return send(request, reply, runs, { type: 'update_run', runId: request.params.id, edit });
    },
  });
  app.post('/v1/runs/:id/recover', {
    config: { ...declared('recover_run'), headers: ['if-match'] },
    schema: {
      ...about('recover_run', 'Lift the trip of a run, with a reason'),
      params: runParams,
      body: runRecovery,
      response: { 200: runOut },
    },
    async handler(request, reply) {
      const { reason, strategy, assessment, changes, reset_tokens } = request.body;
      const { limits, deadline_at } = changes;
      const change = defined({
        limits: limits === undefined ? undefined : limitsIn(limits),
        deadlineAt: deadline_at,
      });
      const runId = request.params.id;
      return send(request, reply, runs, {
        type: 'recover_run',
        runId,
        strategy,
        reason,
        assessment,
        changes: change,
        resetTokens: reset_tokens,
      });
    },
  });
  app.post('/v1/runs/:id/close', {
    config: { ...declared('close_run'), headers: ['if-match'] },
    schema: {
      ...about('close_run', 'End a run: nothing in it starts any more'),
      params: runParams,
      body: runClosing,
      response: { 200: runOut },
    },
    handler: async (request, reply) =>
      send(request, reply, runs, {
        type: 'close_run',
        runId: request.params.id,
        reason: request.body.reason,
      }),
  });
}

function readRoutes(plain: FastifyInstance, runs: Runs): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.get('/v1/runs', {
    config: { roles: 'any' },
    schema: {
      ...about('list_runs', 'List runs, newest first'),
      querystring: pageQuery,
      response: { 200: runListOut },
    },
    async handler(request, reply) {
      const asked = pageIn(request.query, UUID);
      if (!asked.ok) return reply.refuse(asked.refusal);
      const page = await runs.list(callerOf(request).projectId, asked.value);
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, page, (run) => run)));
    },
  });
  app.get('/v1/runs/:id', {
    config: { roles: 'any', headers: ['if-none-match'] },
    schema: { ...about('get_run', 'Read a run'), params: runParams, response: { 200: runOut } },
    async handler(request, reply) {
      const found = await runs.get(callerOf(request).projectId, request.params.id);
      if (!found.ok) return reply.refuse(found.refusal);
      return sendVersioned(request, reply, JSON.stringify(found.value.body), found.value.version);
    },
  });
}

function declared(type: RunCommandType) {
  return { roles: RUN_TRANSITIONS[type].by, command: type };
}

function about(operationId: string, summary: string) {
  return { operationId, summary, tags: ['runs'] };
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  runs: Runs,
  command: RunCommand,
): Promise<FastifyReply> {
  const version = versionIn(request);
  if (!version.ok) return reply.refuse(version.refusal);
  const conditioned =
    version.value === null || command.type === 'create_run'
      ? command
      : { ...command, version: version.value };
  const { idempotency, trace } = request;
  return sendAnswer(
    reply,
    await runs.send({ actor: callerOf(request), command: conditioned, idempotency, request: trace }),
  );
}
