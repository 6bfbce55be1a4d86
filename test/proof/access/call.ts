/** A request that is ready to be sent, by whoever's key. */
export interface Ready {
  readonly method: string;
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer as it came, in its own bytes. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends a request with that Authorization header, or with none. A stream is left as soon as it has begun. */
export async function call(url: string, ready: Ready, authorization: string | null): Promise<Answered> {
  const gone = new AbortController();
  const response = await fetch(`${url}${ready.path}`, {
    method: ready.method,
    headers: {
      ...(ready.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...ready.headers,
      ...(authorization === null ? {} : { authorization }),
    },
    ...(ready.body === undefined ? {} : { body: JSON.stringify(ready.body) }),
    signal: gone.signal,
  });
  const { status, headers } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (isStream) gone.abort();
  return { status, headers, text: isStream ? '' : await response.text() };
}

/** The header of a key. */
export function bearer(key: string): string {
  return `Bearer ${key}`;
}

/** The code of a problem; of anything else nothing. */
export function codeIn({ text }: Answered): string | null {
  if (!text.startsWith('{')) return null;
  const { code }: { code?: unknown } = JSON.parse(text);
  return typeof code === 'string' ? code : null;
}

const OBJECT_ID = /\b(task|run|trip|agt|brk)_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** The ids of objects in a text. */
export function idsIn(text: string): string[] {
  return text.match(OBJECT_ID) ?? [];
}

/** The text with ids of objects that never were. */
export function withUnknownIds(text: string): string {
  return text.replace(OBJECT_ID, (_, kind: string) => `${kind}_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b`);
}

/** What an answer tells, but for the ids of the object and the request. */
export function told({ status, headers, text }: Answered): unknown {
  const { request_id: _, ...body }: Record<string, unknown> = JSON.parse(text.replace(OBJECT_ID, '<id>'));
  return { status, type: headers.get('content-type'), etag: headers.get('etag'), body };
}
