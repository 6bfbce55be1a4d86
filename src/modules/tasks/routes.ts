import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { pageQuery } from '../../http/fields.js';
import {
  callerOf,
  cursorIn,
  INVALID_CURSOR,
  listOf,
  sendAnswer,
  sendJson,
  sendMarkdown,
  sendVersioned,
  versionIn,
} from '../../http/index.js';
import { preferredType } from '../../http/negotiate.js';
import type { Role } from '../../kernel/actor.js';
import { defined } from '../../kernel/defined.js';
import type { NewId } from '../../kernel/ids.js';
import type { Refusal } from '../../kernel/refusal.js';
import { type Events, eventListOut, eventToWire } from '../events/index.js';
import * as commands from './commands.js';
import type { Envelope } from './envelope.js';
import * as out from './response.js';
import * as body from './schema.js';
import type { Tasks } from './service.js';
import { TRANSITIONS } from './transitions.js';
import type { Command, CommandType, TaskState } from './types.js';

const TAG = ['tasks'];

/** The routes of the tasks room. */
export function tasksRoutes(app: FastifyInstance, tasks: Tasks, events: Events, newId: NewId): void {
  createRoutes(app, tasks, newId);
  claimRoutes(app, tasks);
  commandRoutes(app, tasks);
  readRoutes(app, tasks);
  historyRoutes(app, tasks, events);
}

function createRoutes(plain: FastifyInstance, tasks: Tasks, newId: NewId): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.post('/v1/tasks', {
    config: { roles: rolesOf('create'), command: 'create' },
    schema: {
      ...about('create_task', 'Create a task'),
      body: body.newTask,
      response: { 201: out.taskAnswer },
    },
    async handler(request, reply) {
      const charged = request.chargeCreates(1);
      if (charged !== null) return reply.refuse(charged);
      return sendAnswer(
        reply,
        await tasks.send(envelopeOf(request, commands.createTask(request.body, newId))),
      );
    },
  });
  app.post('/v1/plans', {
    config: { roles: rolesOf('create'), command: 'create' },
    schema: {
      ...about('create_plan', 'Create a whole plan, all of it or nothing'),
      body: body.newPlan,
      response: { 201: out.planAnswer },
    },
    async handler(request, reply) {
      const command = commands.createPlan(request.body, newId);
      if (!command.ok) return reply.refuse(command.refusal);
      const charged = request.chargeCreates(command.value.tasks.length);
      if (charged !== null) return reply.refuse(charged);
      return sendAnswer(reply, await tasks.send(envelopeOf(request, command.value)));
    },
  });
  app.patch('/v1/tasks/:id', {
    config: { roles: rolesOf('update'), command: 'update', headers: ['if-match'] },
    schema: {
      ...about('update_task', 'Change what a task says'),
      params: body.taskParams,
      body: body.taskEdit,
      response: { 200: out.taskAnswer },
    },
    async handler(request, reply) {
      if (request.headers['if-match'] === undefined) return reply.refuse(VERSION_REQUIRED);
      return sendOnTask(request, reply, tasks, commands.updateTask(request.params.id, request.body));
    },
  });
}

const VERSION_REQUIRED: Refusal = {
  code: 'version_required',
  detail:
    'A change needs If-Match with the ETag of the version it was made for. Read the task, then send its ETag.',
};

function claimRoutes(plain: FastifyInstance, tasks: Tasks): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.post('/v1/tasks/claim', {
    config: { roles: rolesOf('claim_next'), command: 'claim_next', headers: ['prefer'] },
    schema: {
      ...about('claim_next_task', 'Claim the next task, to work on or to review'),
      querystring: body.waitQuery,
      body: body.claimNext,
      response: { 200: out.claims, 204: z.null().meta({ description: 'There is nothing to claim.' }) },
    },
    async handler(request, reply) {
      const purpose = request.body.for ?? (callerOf(request).roles.includes('executor') ? 'work' : 'review');
      const envelope = envelopeOf(request, commands.claimNext(request.body, purpose));
      const waitMs = (request.query.wait_seconds ?? preferredWait(request)) * 1000;
      const answer =
        waitMs === 0 ? await tasks.send(envelope) : await tasks.claim(envelope, waitMs, goneSignal(reply));
      return sendAnswer(
        reply,
        request.body.include_brief ? await tasks.withBriefs(envelope.actor.projectId, answer) : answer,
      );
    },
  });
  app.post('/v1/tasks/:id/claim', {
    config: { roles: rolesOf('claim'), command: 'claim', headers: ['if-match'] },
    schema: {
      ...about('claim_task', 'Claim one task by its id'),
      params: body.taskParams,
      body: body.claimOne.default(body.claimOne.parse({})),
      response: { 200: out.claim },
    },
    async handler(request, reply) {
      const { id } = request.params;
      const command = commands.claimOne(id, request.body);
      const sent = conditioned(request, command, request.body.expected_state);
      if ('code' in sent) return reply.refuse(sent);
      const envelope = envelopeOf(request, sent);
      const answer = await tasks.send(envelope);
      return sendAnswer(
        reply,
        request.body.include_brief ? await tasks.withBriefs(envelope.actor.projectId, answer) : answer,
      );
    },
  });
}

/** One command on one task: its path, its body, and how the two become a command. */
interface CommandRoute<B extends z.ZodType> {
  readonly path: string;
  readonly type: CommandType;
  readonly operationId: string;
  readonly summary: string;
  readonly body: B;
  readonly response: z.ZodType;
  readonly command: (taskId: string, body: z.output<B>) => TaskCommand;
}

type TaskCommand = Extract<Command, { readonly taskId: string }>;

function commandRoutes(app: FastifyInstance, tasks: Tasks): void {
  const add = <B extends z.ZodType>(route: CommandRoute<B>) => addCommand(app, tasks, route);
  const task = out.taskAnswer;
  add({
    path: 'heartbeat',
    type: 'heartbeat',
    operationId: 'heartbeat_task',
    summary: 'Say that you are alive; hear whether to go on',
    body: body.heartbeat,
    response: out.directive,
    command: commands.heartbeat,
  });
  add({
    path: 'usage',
    type: 'report_usage',
    operationId: 'report_usage',
    summary: 'Report tokens and cost: an increment',
    body: body.usageReport,
    response: task,
    command: commands.reportUsage,
  });
  add({
    path: 'submit',
    type: 'submit',
    operationId: 'submit_task',
    summary: 'Hand in a result for review',
    body: body.submission,
    response: task,
    command: commands.submit,
  });
  add({
    path: 'fail',
    type: 'fail',
    operationId: 'fail_task',
    summary: 'Report a failure and give the task back',
    body: body.failure,
    response: task,
    command: commands.fail,
  });
  add({
    path: 'release',
    type: 'release',
    operationId: 'release_task',
    summary: 'Give a task, or a review, back',
    body: body.release,
    response: task,
    command: commands.release,
  });
  add({
    path: 'approve',
    type: 'approve',
    operationId: 'approve_task',
    summary: 'Accept the attempt: the task is done',
    body: body.approval,
    response: task,
    command: commands.approve,
  });
  add({
    path: 'rework',
    type: 'rework',
    operationId: 'rework_task',
    summary: 'Send the attempt back with a reason',
    body: body.reworkRequest,
    response: task,
    command: commands.rework,
  });
  add({
    path: 'block',
    type: 'block',
    operationId: 'block_task',
    summary: 'Stop a task by hand',
    body: body.blocking,
    response: task,
    command: commands.block,
  });
  add({
    path: 'unblock',
    type: 'unblock',
    operationId: 'unblock_task',
    summary: 'Lift a block, with a reason',
    body: body.unblocking,
    response: task,
    command: commands.unblock,
  });
  add({
    path: 'cancel',
    type: 'cancel',
    operationId: 'cancel_task',
    summary: 'Give a task up for good',
    body: body.cancellation,
    response: task,
    command: commands.cancel,
  });
}

function addCommand<B extends z.ZodType>(plain: FastifyInstance, tasks: Tasks, route: CommandRoute<B>): void {
  plain.withTypeProvider<ZodTypeProvider>().post(`/v1/tasks/:id/${route.path}`, {
    config: { roles: rolesOf(route.type), command: route.type, headers: ['if-match'] },
    schema: {
      ...about(route.operationId, route.summary),
      params: body.taskParams,
      body: route.body,
      response: { 200: route.response },
    },
    async handler(request, reply) {
      const parsed: unknown = request.body;
      if (!isParsed(route.body, parsed)) throw new Error('a body passed its route without being parsed');
      return sendOnTask(
        request,
        reply,
        tasks,
        route.command(request.params.id, parsed),
        expectedStateIn(parsed),
      );
    },
  });
}

/** The route's validator has parsed the body by this very schema; only its type was lost on the way through a generic. */
function isParsed<B extends z.ZodType>(_schema: B, parsed: unknown): parsed is z.output<B> {
  return parsed !== undefined;
}

function readRoutes(plain: FastifyInstance, tasks: Tasks): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.get('/v1/tasks', {
    config: { roles: 'any' },
    schema: {
      ...about('list_tasks', 'List tasks, newest first'),
      querystring: body.taskQuery,
      response: { 200: out.pageOf(out.task) },
    },
    async handler(request, reply) {
      const { limit, cursor, state, run_id, label, agent_id, parent_id, q, updated_since } = request.query;
      const after = cursorIn(cursor, UUID);
      if (after === 'invalid') return reply.refuse(INVALID_CURSOR);
      const filter = defined({
        state,
        runId: run_id,
        label,
        agentId: agent_id,
        parentId: parent_id,
        text: q,
        updatedSince: updated_since,
      });
      const page = await tasks.list(callerOf(request).projectId, filter, { limit, after });
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, page, (task) => task)));
    },
  });
  app.get('/v1/tasks/claimable', {
    config: { roles: 'any' },
    schema: {
      ...about('look_at_claimable', 'See what you could claim, and why not more'),
      querystring: body.claimableQuery,
      response: { 200: out.claimable },
    },
    async handler(request, reply) {
      const actor = callerOf(request);
      const isReviewerOnly = actor.roles.includes('reviewer') && !actor.roles.includes('executor');
      const purpose = request.query.for ?? (isReviewerOnly ? 'review' : 'work');
      return sendJson(reply, 200, JSON.stringify(await tasks.claimable(actor, purpose)));
    },
  });
  app.get('/v1/tasks/:id', {
    config: { roles: 'any', headers: ['if-none-match'] },
    schema: { ...about('get_task', 'Read a task'), params: body.taskParams, response: { 200: out.task } },
    async handler(request, reply) {
      const found = await tasks.get(callerOf(request).projectId, request.params.id);
      if (!found.ok) return reply.refuse(found.refusal);
      return sendVersioned(request, reply, JSON.stringify(found.value.body), found.value.version);
    },
  });
  app.get('/v1/tasks/:id/guard', {
    config: { roles: 'any' },
    schema: {
      ...about('get_task_guard', 'Read every limit of a task, without acting'),
      params: body.taskParams,
      response: { 200: out.guardReading },
    },
    async handler(request, reply) {
      const found = await tasks.guard(callerOf(request).projectId, request.params.id);
      return found.ok ? sendJson(reply, 200, JSON.stringify(found.value)) : reply.refuse(found.refusal);
    },
  });
  app.get('/v1/tasks/:id/brief', {
    config: { roles: 'any' },
    schema: {
      ...about('get_task_brief', 'Read what to know before working on a task (JSON, or Markdown by Accept)'),
      params: body.taskParams,
      response: { 200: out.brief },
    },
    async handler(request, reply) {
      const found = await tasks.brief(callerOf(request).projectId, request.params.id);
      if (!found.ok) return reply.refuse(found.refusal);
      if (preferredType(request.headers.accept, ['application/json', 'text/markdown']) !== 'text/markdown') {
        return sendJson(reply, 200, JSON.stringify(found.value.json));
      }
      return sendMarkdown(reply, found.value.markdown);
    },
  });
}

function historyRoutes(plain: FastifyInstance, tasks: Tasks, events: Events): void {
  const app = plain.withTypeProvider<ZodTypeProvider>();
  app.get('/v1/tasks/:id/attempts', {
    config: { roles: 'any' },
    schema: {
      ...about('list_attempts', "List a task's attempts, first to last"),
      params: body.taskParams,
      querystring: pageQuery,
      response: { 200: out.pageOf(out.attempt) },
    },
    async handler(request, reply) {
      const { limit, cursor } = request.query;
      const after = cursorIn(cursor, /^\d{1,9}$/);
      if (after === 'invalid') return reply.refuse(INVALID_CURSOR);
      const page = await tasks.attempts(callerOf(request).projectId, request.params.id, {
        limit,
        after: Number(after ?? 0),
      });
      if (!page.ok) return reply.refuse(page.refusal);
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, page.value, (attempt) => attempt)));
    },
  });
  app.get('/v1/tasks/:id/events', {
    config: { roles: 'any' },
    schema: {
      ...about('list_task_events', "List a task's events, first to last, without gaps"),
      params: body.taskParams,
      querystring: pageQuery,
      response: { 200: eventListOut },
    },
    async handler(request, reply) {
      const { projectId } = callerOf(request);
      const { id } = request.params;
      const { limit, cursor } = request.query;
      const after = cursorIn(cursor, /^\d{1,15}$/);
      if (after === 'invalid') return reply.refuse(INVALID_CURSOR);
      const task = await tasks.get(projectId, id);
      if (!task.ok) return reply.refuse(task.refusal);
      const page = await events.list(projectId, { taskId: id }, { after: Number(after ?? 0), limit });
      return sendJson(reply, 200, JSON.stringify(listOf(request, reply, page, eventToWire)));
    },
  });
}

/** The roles at a route's door, from the machine's table. Who holds a lease may be of any role: the lease decides. */
function rolesOf(type: CommandType): readonly Role[] | 'any' {
  const roles = TRANSITIONS[type].by.filter((by): by is Role => by !== 'holder' && by !== 'server');
  return TRANSITIONS[type].by.includes('holder') ? 'any' : roles;
}

function about(operationId: string, summary: string) {
  return { operationId, summary, tags: TAG };
}

function envelopeOf(request: FastifyRequest, command: Command): Envelope {
  return { actor: callerOf(request), command, idempotency: request.idempotency, request: request.trace };
}

async function sendOnTask(
  request: FastifyRequest,
  reply: FastifyReply,
  tasks: Tasks,
  command: TaskCommand,
  expectedState?: TaskState,
): Promise<FastifyReply> {
  const sent = conditioned(request, command, expectedState);
  if ('code' in sent) return reply.refuse(sent);
  return sendAnswer(reply, await tasks.send(envelopeOf(request, sent)));
}

/** The command with the conditions that the request puts on it. */
function conditioned(
  request: FastifyRequest,
  command: TaskCommand,
  expectedState?: TaskState,
): TaskCommand | Refusal {
  const version = versionIn(request);
  if (typeof version === 'object' && version !== null) return version;
  return {
    ...command,
    ...(version === null ? {} : { version }),
    ...(expectedState === undefined ? {} : { expectedState }),
  };
}

function expectedStateIn(parsed: unknown): TaskState | undefined {
  if (typeof parsed !== 'object' || parsed === null || !('expected_state' in parsed)) return undefined;
  return EXPECTED.safeParse(parsed.expected_state).data;
}

const EXPECTED = body.taskQuery.shape.state;

/** How long `Prefer: wait=20` asks to wait, in seconds; 0 without it, 30 at most. */
function preferredWait(request: FastifyRequest): number {
  const header = request.headers.prefer;
  const wait = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,4})"?/i.exec(
    Array.isArray(header) ? header.join(',') : (header ?? ''),
  )?.[1];
  return wait === undefined ? 0 : Math.min(Number(wait), 30);
}

/** Aborts when the caller hangs up before it has its answer. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort());
  return controller.signal;
}

const UUID = /^[0-9a-f-]{36}$/;
