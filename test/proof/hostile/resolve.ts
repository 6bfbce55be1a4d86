import type { Living } from './living.js';
import { isRecord, Ref, type Template } from './template.js';
import type { RawRequest } from './wire.js';

/** A request as it goes out, and what must be known of it to judge its answer. */
export interface Concrete {
  readonly raw: RawRequest;
  readonly caller: string;
  /** The body with everything found. */
  readonly body: unknown;
}

/** How long something that waits is listened to. */
const LISTEN_MS = 60;

/** What an agent with a lease sends. */
const HOLDERS = /^(heartbeat|submit|fail|release)_task$|^report_usage$/;

/** Finds what a template names, as the board is now. */
export function concrete(template: Template, living: Living): Concrete {
  const { operation } = template;
  const find = (value: unknown, subject: string): unknown => {
    if (value instanceof Ref) return living.find(value, operation.id, subject);
    if (Array.isArray(value)) return value.map((part) => find(part, subject));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, find(part, subject)]));
  };
  let subject = operation.path.startsWith('/v1/projects/current') ? living.projectId : '';
  let target = operation.path;
  for (const [name, value] of Object.entries(template.path)) {
    const found = String(find(value, subject));
    if (name === 'id') subject = found;
    target = target.replace(`{${name}}`, encodeURIComponent(found).replaceAll('%2F', '/'));
  }
  const query = template.query.flatMap(([name, value]) => {
    const found = find(value, subject);
    const values = Array.isArray(found) ? found : found === null ? [] : [found];
    return values.map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(String(one))}`);
  });
  const body = find(template.body, subject);
  const caller = callerFor(template, living, subject);
  const sent = template.headers.map(([name, value]): [string, string] => [
    name,
    String(find(value, subject)),
  ]);
  const authorization = living.authorizationOf(caller);
  const waits = operation.id === 'stream_events';
  return {
    caller,
    body,
    raw: {
      method: operation.method,
      target: query.length === 0 ? target : `${target}?${query.join('&')}`,
      headers: [
        ['Host', 'board.example'],
        ...(authorization === null ? [] : [['Authorization', authorization] as const]),
        ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
        ...sent,
      ],
      body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
      ...(waits ? { hangUpAfterMs: LISTEN_MS } : {}),
    },
  };
}

function callerFor({ operation, sender, body }: Template, living: Living, subject: string): string {
  if (sender.who === 'shut out') return living.shutOut(sender.pick);
  if (sender.who === 'any') return living.callerWith('any', sender.pick);
  const holder = HOLDERS.test(operation.id) ? living.board.holderOf(subject) : null;
  if (holder !== null) return holder;
  const purpose = isRecord(body) ? body.for : undefined;
  if (purpose === 'work') return living.callerWith(['executor'], sender.pick);
  if (purpose === 'review') return living.callerWith(['reviewer'], sender.pick);
  return living.callerWith(operation.roles.includes('any') ? 'any' : operation.roles, sender.pick);
}
