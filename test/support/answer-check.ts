import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

/**
 * Holds every successful answer against what its route declares for that status: its media type and its schema, unknown fields
 * included. The server itself does not: there an answer that fails after the commit would be lost. Call it before the app is ready.
 */
export function checkAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    const forms = formsOf(request.routeOptions.schema?.response, reply.statusCode);
    if (forms === null || typeof payload !== 'string' || payload === '') return payload;
    const [type = ''] = String(reply.getHeader('content-type') ?? '').split(';');
    const schema = forms.get(type);
    const where = `${request.method} ${request.routeOptions.url} answered ${reply.statusCode}`;
    if (schema === undefined) throw new Error(`${where} as ${type}, which its route does not declare`);
    if (type !== 'application/json') return payload;
    const answer: unknown = JSON.parse(payload);
    const result = z.safeParse(schema, answer);
    if (!result.success) throw new Error(`${where} against its schema: ${z.prettifyError(result.error)}`);
    if (!isDeepStrictEqual(result.data, answer))
      throw new Error(`${where} with fields that its schema does not have`);
    return payload;
  });
}

const SEVERAL = z.object({
  content: z.record(z.string(), z.object({ schema: z.instanceof(z.core.$ZodType) })),
});

/** The schemas of a status by media type; a route that names none answers JSON. */
function formsOf(responses: unknown, status: number): ReadonlyMap<string, z.core.$ZodType> | null {
  if (typeof responses !== 'object' || responses === null) return null;
  const declared: unknown = Reflect.get(responses, status);
  if (declared instanceof z.core.$ZodType) return new Map([['application/json', declared]]);
  const several = SEVERAL.safeParse(declared).data;
  if (several === undefined) return null;
  return new Map(Object.entries(several.content).map(([type, { schema }]) => [type, schema]));
}
