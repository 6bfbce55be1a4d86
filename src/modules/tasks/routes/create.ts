import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { requiredVersionIn, sendAnswer } from '../../../http/index.js';
import type { NewId } from '../../../kernel/ids.js';
import * as commands from '../commands.js';
import * as out from '../response.js';
import * as body from '../schema.js';
import type { Tasks } from '../service.js';
import { about, envelopeOf, rolesOf, sendOnTask } from './requests.js';

/** Making tasks, one or a whole plan, and changing what they say. */
export function createRoutes(plain: FastifyInstance, tasks: Tasks, newId: NewId): void {
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
      const version = requiredVersionIn(request);
      if (!version.ok) return reply.refuse(version.refusal);
      return sendOnTask(request, reply, tasks, commands.updateTask(request.params.id, request.body));
    },
  });
}
