import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import * as commands from '../commands.js';
import * as out from '../response.js';
import * as body from '../schema.js';
import type { Tasks } from '../service.js';
import type { CommandType, TaskState } from '../types.js';
import { about, rolesOf, sendOnTask, type TaskCommand } from './requests.js';

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

/** The commands on one task that is there. */
export function commandRoutes(app: FastifyInstance, tasks: Tasks): void {
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

function expectedStateIn(parsed: unknown): TaskState | undefined {
  if (typeof parsed !== 'object' || parsed === null || !('expected_state' in parsed)) return undefined;
  return EXPECTED.safeParse(parsed.expected_state).data;
}

const EXPECTED = body.taskQuery.shape.state;
