import { uuidv7 } from 'uuidv7';

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

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Makes new ids; handed in so that tests can own them. */
export type NewId = () => string;

/** A new time-ordered id (UUIDv7). */
export const newId: NewId = () => uuidv7();

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
