import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, sendAnswer, versionIn } from '../../../http/index.js';
import type { Role } from '../../../kernel/actor.js';
import { defined } from '../../../kernel/defined.js';
import { ok, type Result } from '../../../kernel/refusal.js';
import type { Envelope } from '../envelope.js';
import type { Tasks } from '../service.js';
import { TRANSITIONS } from '../transitions.js';
import type { Command, CommandType, TaskState } from '../types.js';

/** A command on one task that is there. */
export type TaskCommand = Extract<Command, { readonly taskId: string }>;

/** The roles at a route's door, from the machine's table. Who holds a lease may be of any role: the lease decides. */
export function rolesOf(type: CommandType): readonly Role[] | 'any' {
  const roles = TRANSITIONS[type].by.filter((by): by is Role => by !== 'holder' && by !== 'server');
  return TRANSITIONS[type].by.includes('holder') ? 'any' : roles;
}

/** How the API description names a route of this room. */
export function about(operationId: string, summary: string) {
  return { operationId, summary, tags: ['tasks'] };
}

/** A command with who sends it, and what ties it to the request. */
export function envelopeOf(request: FastifyRequest, command: Command): Envelope {
  return { actor: callerOf(request), command, idempotency: request.idempotency, request: request.trace };
}

/** Sends a command on one task, with the conditions that the request puts on it. */
export async function sendOnTask(
  request: FastifyRequest,
  reply: FastifyReply,
  tasks: Tasks,
  command: TaskCommand,
  expectedState?: TaskState,
): Promise<FastifyReply> {
  const sent = conditioned(request, command, expectedState);
  if (!sent.ok) return reply.refuse(sent.refusal);
  return sendAnswer(reply, await tasks.send(envelopeOf(request, sent.value)));
}

/** The command with the conditions that the request puts on it. */
export function conditioned(
  request: FastifyRequest,
  command: TaskCommand,
  expectedState?: TaskState,
): Result<TaskCommand> {
  const version = versionIn(request);
  if (!version.ok) return version;
  return ok({ ...command, ...defined({ version: version.value ?? undefined, expectedState }) });
}
