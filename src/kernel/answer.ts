import type { Refusal } from './refusal.js';

/**
 * What a command is answered with. The body is complete JSON before the commit: an answer that cannot be made must fail before
 * anything is written. `none`: there is nothing to give.
 */
export type Answer =
  | {
      readonly kind: 'done' | 'created';
      readonly body: string;
      /** The version of the one object in the answer, for its ETag. */
      readonly version: number | null;
      /** It was given before, to the same Idempotency-Key. */
      readonly replayed: boolean;
    }
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** The version of the object that a kept answer is, for its ETag. */
export function versionIn(answer: string): number | null {
  const body: unknown = JSON.parse(answer);
  const version = typeof body === 'object' && body !== null && 'version' in body ? body.version : null;
  return typeof version === 'number' ? version : null;
}
