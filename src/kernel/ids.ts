import { V7Generator } from 'uuidv7';

/** Random words for several hundred ids at once: asking the system for eight at a time took most of the time of an id. */
const words = new Uint32Array(1024);
let used = words.length;

function nextUint32(): number {
  if (used === words.length) {
    crypto.getRandomValues(words);
    used = 0;
  }
  return words[used++] ?? 0;
}

const generator = new V7Generator({ nextUint32 });

/** The prefix of each kind of object on the wire. In the database an id is the bare UUID. */
export const ID_PREFIXES = {
  project: 'prj',
  agent: 'agt',
  run: 'run',
  task: 'task',
  trip: 'trip',
  event: 'evt',
  session: 'ses',
  breaker: 'brk',
} as const;
export type IdKind = keyof typeof ID_PREFIXES;

/** An id as the database keeps it. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Makes new ids; handed in so that tests can own them. */
export type NewId = () => string;

/** A new time-ordered id (UUIDv7). */
export const newId: NewId = () => generator.generate().toString();

/** The id as a user sees it: `task_0192…`. */
export function toWire(kind: IdKind, uuid: string): string {
  return `${ID_PREFIXES[kind]}_${uuid}`;
}

/** The bare UUID of an id of that kind, or null when it is not one. */
export function fromWire(kind: IdKind, wire: string): string | null {
  const prefix = `${ID_PREFIXES[kind]}_`;
  if (!wire.startsWith(prefix)) return null;
  const uuid = wire.slice(prefix.length);
  return UUID.test(uuid) ? uuid : null;
}
