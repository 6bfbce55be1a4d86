import fc from 'fast-check';
import type { Step } from './stories.js';

/** How often a command is sent, and how. */
export interface Manner {
  /** Copies under one Idempotency-Key. */
  readonly keyed: number;
  /** Copies without a key. */
  readonly bare: number;
  /** Copies under the same key that say something else. */
  readonly instead: number;
  /** All in flight together, or one after another. */
  readonly atOnce: boolean;
  /** In which order they go out: each copy's place, by its draw. */
  readonly order: readonly number[];
}

/** Any manner that leaves something to be repeated. */
export const manners: fc.Arbitrary<Manner> = fc
  .record({
    keyed: fc.integer({ min: 0, max: 4 }),
    bare: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3 })),
    instead: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.constant(1)),
    atOnce: fc.boolean(),
    order: fc.array(fc.nat(1_000), { minLength: 8, maxLength: 8 }),
  })
  .filter(({ keyed, bare }) => keyed + bare >= 2);

/** A request as it is sent once. */
export interface Copy {
  readonly step: Step;
  readonly kind: 'keyed' | 'bare' | 'instead';
  readonly idempotencyKey: string | null;
  readonly requestId: string;
  /** Which process it goes to. */
  readonly desk: number;
}

/** A copy and what came back. */
export interface Sent extends Copy {
  readonly status: number;
  readonly replayed: boolean;
  readonly etag: string | null;
  readonly text: string;
}

/** The code of a refusal, `nothing` for an answer without a body, and `done`. */
export function outcomeOf({ status, text }: Sent): string {
  if (status === 204) return 'nothing';
  if (status < 300) return 'done';
  const { code }: { code: string } = JSON.parse(text);
  return code;
}

/** The body of an answer without what is told only once. */
export function withoutSecret({ text }: Sent): string {
  return text.replace(/,"api_key":"fb_[^"]+"/, '');
}

/** The copies of a command, in the order in which they are sent. */
export function copiesOf(step: Step, manner: Manner, name: string): Copy[] {
  const copy = (kind: Copy['kind'], n: number): Copy => ({
    step,
    kind,
    idempotencyKey: kind === 'bare' ? null : name,
    requestId: `${name}-${kind}-${n}`,
    desk: n % 2,
  });
  const all = (['keyed', 'bare', 'instead'] as const).flatMap((kind) =>
    Array.from({ length: manner[kind] }, (_, n) => copy(kind, n)),
  );
  const drawn = all.map((one, n) => ({ one, place: manner.order[n % manner.order.length] ?? 0 }));
  return drawn.sort((a, b) => a.place - b.place).map(({ one }) => one);
}

/** Sends a copy to its process. */
export async function sendCopy(urls: readonly string[], copy: Copy): Promise<Sent> {
  const { step, kind, idempotencyKey, requestId, desk } = copy;
  const response = await fetch(`${urls[desk]}${step.path}`, {
    method: step.method,
    headers: {
      ...step.headers,
      authorization: `Bearer ${step.key}`,
      'content-type': 'application/json',
      'x-request-id': requestId,
      ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(kind === 'instead' ? step.instead : step.body),
  });
  const replayed = response.headers.get('idempotency-replayed') === 'true';
  const etag = response.headers.get('etag');
  return { ...copy, status: response.status, replayed, etag, text: await response.text() };
}
