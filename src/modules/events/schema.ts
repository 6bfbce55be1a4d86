import { z } from 'zod';
import { idIn, pageOf, pageQuery } from '../../http/fields.js';
import { EVENT_TYPES } from '../../kernel/event.js';
import { ID_PREFIXES, type IdKind } from '../../kernel/ids.js';

const EXAMPLE = '01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b';

const idOut = (kind: IdKind) => z.string().meta({ examples: [`${ID_PREFIXES[kind]}_${EXAMPLE}`] });
const type = z.enum(EVENT_TYPES);

const filter = {
  type: z
    .union([type, z.array(type).min(1).max(EVENT_TYPES.length)])
    .optional()
    .describe('Only events of this type; may be given several times.'),
  task_id: idIn('task').optional(),
  agent_id: idIn('agent').optional(),
};

const after = z
  .string()
  .max(400)
  .optional()
  .describe(
    'The position of the last event already read, or a cursor. Without it the log is read from its start.',
  );

/** The query of the feed. */
export const feedQuery = z.strictObject({
  ...filter,
  after,
  ...pageQuery.shape,
  wait_seconds: z.coerce
    .number()
    .int()
    .min(0)
    .max(30)
    .default(0)
    .describe('Where there is nothing yet, waits up to so many seconds for an event.'),
});

/** The query of the stream. */
export const streamQuery = z.strictObject({ ...filter, after });

/** An event on the wire. */
export const eventOut = z
  .object({
    id: idOut('event'),
    position: z.int().describe('Its place in the project’s log: 1, 2, 3 …'),
    type,
    at: z.iso.datetime(),
    task_id: idOut('task').nullable(),
    number: z.int().nullable().describe('Its place among the events of its task: 1, 2, 3 …'),
    run_id: idOut('run').nullable(),
    actor: z.object({ agent_id: idOut('agent').nullable(), role: z.string() }),
    command: z.string(),
    from: z.string().nullable(),
    to: z.string().nullable(),
    counters: z.record(z.string(), z.unknown()).nullable().describe('After the change.'),
    reason: z.string().nullable(),
    request_id: z.string(),
    trace_id: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' });

/** A page of the feed. */
export const eventListOut = pageOf(eventOut).meta({ id: 'EventList' });

/** The stream, described. What is sent is no value but a stream, which the schema only tells about. */
export const streamOut: z.ZodType<unknown> = z.string().meta({
  id: 'EventStream',
  description:
    'Messages `id: <position>`, `event: <type>`, `data: <Event as JSON>`, and comments to keep the line open.',
});
