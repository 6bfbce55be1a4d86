import { REFUSAL_CODES } from '../kernel/refusal.js';

/** What of the API is the same in every operation. */

const pointerFault = {
  type: 'object',
  required: ['pointer', 'detail', 'code'],
  properties: {
    pointer: {
      type: 'string',
      description: 'JSON pointer: in the body, or below /query, /params or /headers.',
    },
    detail: { type: 'string' },
    code: { type: 'string' },
  },
};

const nextCall = {
  type: 'object',
  required: ['method', 'path'],
  properties: {
    method: { type: 'string' },
    path: { type: 'string' },
    role: { type: 'string', description: 'The role that may make this call.' },
  },
};

/** The schema of every answer from 400 on. */
export const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'RFC 9457. Facts about the refusal stand beside these members.',
  required: [
    'type',
    'title',
    'status',
    'detail',
    'instance',
    'code',
    'request_id',
    'retryable',
    'next_actions',
  ],
  properties: {
    type: { type: 'string', description: 'The page that explains the code, /problems/{code}.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is wrong and what to do next.' },
    instance: { type: 'string', description: 'The path of the request.' },
    code: { type: 'string', enum: [...REFUSAL_CODES] },
    request_id: { type: 'string' },
    retryable: {
      type: 'boolean',
      description: 'Whether the same call can succeed later without anybody acting.',
    },
    retry_after_seconds: { type: 'integer' },
    next_actions: { type: 'array', items: nextCall, description: 'Calls that may be made now.' },
    errors: { type: 'array', items: pointerFault, description: 'Only for input: one entry a fault.' },
  },
  additionalProperties: true,
};

/** The response that every operation refers to as its default. */
export const PROBLEM_RESPONSE = {
  description: 'A refusal or a fault.',
  headers: {
    'X-Request-Id': {
      description: 'Names this request in the log and on events.',
      schema: { type: 'string' },
    },
    'Retry-After': { description: 'Seconds to wait; on 429 and 503.', schema: { type: 'integer' } },
  },
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

/** Parameters by the name under which operations refer to them. */
export const HEADER_PARAMETERS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Repeating a command with the same key and body gives the first answer again for 72 hours. ' +
      'Up to 255 printable characters, bare or in double quotes.',
    schema: { type: 'string', maxLength: 1024 },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description: 'The ETag last read, `"v3"`. The call is refused when the object has changed since.',
    schema: { type: 'string' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag already known. The answer is 304 when it is still the present one.',
    schema: { type: 'string' },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    required: false,
    description: '`wait=20` waits up to so many seconds, at most 30, until there is something to answer.',
    schema: { type: 'string' },
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'The position of the last event received; the stream goes on after it.',
    schema: { type: 'string' },
  },
};

/** The parameter that describes a documented header. */
export const PARAMETER_OF = {
  'if-match': 'IfMatch',
  'if-none-match': 'IfNoneMatch',
  prefer: 'Prefer',
  'last-event-id': 'LastEventId',
} as const satisfies Record<string, keyof typeof HEADER_PARAMETERS>;

/** Request headers that a route may document; none of them is validated by a schema. */
export type DocumentedHeader = keyof typeof PARAMETER_OF;

/** The sections of the description, in order. */
export const TAGS = [
  { name: 'tasks', description: 'Plan, claim, hand in, judge, block and unblock.' },
  { name: 'runs', description: 'Bounded pieces of work with budgets of their own.' },
  { name: 'trips', description: 'What a limit has stopped, and how it goes on.' },
  { name: 'breakers', description: 'Limits with a state.' },
  { name: 'events', description: 'The append-only log, read or streamed.' },
  { name: 'agents', description: 'Who may call, with which key.' },
  { name: 'sessions', description: 'Context windows, and when to clear them.' },
  { name: 'skills', description: 'Governed capabilities that run on the server.' },
  { name: 'performance', description: 'How agents and pairs of agents do.' },
  { name: 'projects', description: 'Tenants, their limits and policies.' },
  { name: 'health', description: 'Whether what always holds does hold.' },
  { name: 'webhooks', description: 'Events sent to other services.' },
] as const;
