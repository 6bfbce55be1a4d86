import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

/**
 * Holds every successful answer against the schema that its route declares for that status, unknown fields included.
 * The server itself does not: there an answer that fails after the commit would be lost. Call it before the app is ready.
 */
export function checkAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    const schema = schemaOf(request.routeOptions.schema?.response, reply.statusCode);
    const type = String(reply.getHeader('content-type') ?? '');
    if (schema === null || typeof payload !== 'string' || !type.startsWith('application/json'))
      return payload;
    const answer: unknown = JSON.parse(payload);
    const result = z.safeParse(schema, answer);
    const where = `${request.method} ${request.routeOptions.url} answered ${reply.statusCode}`;
    if (!result.success) throw new Error(`${where} against its schema: ${z.prettifyError(result.error)}`);
    if (!isDeepStrictEqual(result.data, answer))
      throw new Error(`${where} with fields that its schema does not have`);
    return payload;
  });
}

function schemaOf(responses: unknown, status: number): z.core.$ZodType | null {
  if (typeof responses !== 'object' || responses === null) return null;
  const schema: unknown = Reflect.get(responses, status);
  return schema instanceof z.core.$ZodType ? schema : null;
}
