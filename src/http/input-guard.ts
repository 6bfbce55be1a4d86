import { holdsKey } from '../kernel/key-form.js';
import type { InputError } from '../kernel/refusal.js';
import { invalidInput } from './errors.js';
import type { Gate } from './gates.js';

/** How deep arrays and objects may nest; the outermost counts as one. */
export const MAX_DEPTH = 64;

/** A key in the wrong place would be kept with everything else, and read by all who may read the board. */
export const KEY_FAULT = {
  detail:
    'This holds an API key, which is sent in the header Authorization and nowhere else. Leave it out; revoke the key if others may have seen it.',
  code: 'holds_key',
} as const;

/** In unicode mode a surrogate matches only when it stands alone. */
const HOSTILE_CHARACTER = /[\0\ud800-\udfff]/u;

/** An array or object on the way, linked upwards so that a pointer is only built when it is needed. */
interface Place {
  readonly value: object;
  readonly key: string;
  readonly parent: Place | null;
  readonly depth: number;
}

/** What is wrong with one name or value. */
interface Judgement {
  readonly detail: string;
  readonly code: string;
  /** The name itself cannot be repeated, so the object that has it is pointed at. */
  readonly atParent?: boolean;
}

/** A JSON pointer to these steps (RFC 6901). */
export function pointerTo(prefix: string, steps: readonly PropertyKey[]): string {
  let pointer = prefix;
  for (const step of steps) pointer += `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return pointer;
}

function fault(prefix: string, place: Place, key: string | null, detail: string, code: string): InputError {
  const steps: string[] = key === null ? [] : [key];
  for (let at: Place | null = place; at !== null && at.parent !== null; at = at.parent) steps.unshift(at.key);
  return { pointer: pointerTo(prefix, steps), detail, code };
}

/**
 * The first thing in a parsed value that must not get near a schema or the database, or null. Works off a list instead
 * of calling itself, so that no nesting can exhaust the stack.
 */
export function findHostile(root: unknown, prefix: string): InputError | null {
  if (typeof root !== 'object' || root === null) {
    const place = { value: {}, key: '', parent: null, depth: 0 };
    const found = judgeScalar(root);
    return found === null ? null : fault(prefix, place, null, found.detail, found.code);
  }
  const todo: Place[] = [{ value: root, key: '', parent: null, depth: 1 }];
  for (let place = todo.pop(); place !== undefined; place = todo.pop()) {
    const found = judgePlace(place, prefix, todo);
    if (found !== null) return found;
  }
  return null;
}

function judgePlace(place: Place, prefix: string, todo: Place[]): InputError | null {
  if (place.depth > MAX_DEPTH) {
    return fault(prefix, place, null, `Nesting may be at most ${MAX_DEPTH} levels deep.`, 'too_deep');
  }
  const named = !Array.isArray(place.value);
  // Nothing parsed inherits anything enumerable, and this is the fastest way through both kinds.
  for (const key in place.value) {
    const value: unknown = Reflect.get(place.value, key);
    const found = (named ? judgeName(key, value) : null) ?? judgeScalar(value);
    if (found !== null)
      return fault(prefix, place, found.atParent === true ? null : key, found.detail, found.code);
    if (typeof value === 'object' && value !== null) {
      todo.push({ value, key, parent: place, depth: place.depth + 1 });
    }
  }
  return null;
}

function judgeName(key: string, value: unknown): Judgement | null {
  if (HOSTILE_CHARACTER.test(key)) {
    const detail = 'A field name contains a character that text cannot have.';
    return { detail, code: 'bad_character', atParent: true };
  }
  if (holdsKey(key)) return { ...KEY_FAULT, atParent: true };
  if (key === '__proto__' || (key === 'constructor' && hasPrototype(value))) {
    return { detail: `A field may not be called ${key}.`, code: 'forbidden_name' };
  }
  return null;
}

function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

function judgeScalar(value: unknown): Judgement | null {
  if (typeof value === 'string') return judgeText(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { detail: 'The number is too large.', code: 'not_finite' };
  }
  return null;
}

function judgeText(text: string): Judgement | null {
  if (HOSTILE_CHARACTER.test(text))
    return { detail: 'Text may not contain NUL or half of a surrogate pair.', code: 'bad_character' };
  return holdsKey(text) ? KEY_FAULT : null;
}

/** Looks at everything a caller sent before any schema does. */
export const guardInput: Gate = (request) => {
  const found =
    (request.body === undefined ? null : findHostile(request.body, '')) ??
    findHostile(request.params, '/params') ??
    findHostile(request.query, '/query');
  return found === null ? null : invalidInput([found]);
};
