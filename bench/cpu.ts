import { readdirSync, readFileSync } from 'node:fs';

const TICK_MS = 10;
const PARENT = 1;
const USER = 11;
const SYSTEM = 12;
/** Of children that have ended. */
const ENDED_USER = 13;
const ENDED_SYSTEM = 14;

/** The processor time a process has used, in milliseconds; null where there is no /proc. */
export function cpuOf(pid: number): number | null {
  const fields = statOf(String(pid));
  return fields === null ? null : timeIn(fields);
}

/** The same, of a process and all its children: PostgreSQL has one for each connection. */
export function cpuOfFamily(pid: number): number | null {
  const own = statOf(String(pid));
  if (own === null) return null;
  let sum = timeIn(own) + (Number(own[ENDED_USER]) + Number(own[ENDED_SYSTEM])) * TICK_MS;
  for (const name of readdirSync('/proc')) {
    const fields = /^\d+$/.test(name) ? statOf(name) : null;
    if (fields !== null && fields[PARENT] === String(pid)) sum += timeIn(fields);
  }
  return sum;
}

function timeIn(fields: readonly string[]): number {
  return (Number(fields[USER]) + Number(fields[SYSTEM])) * TICK_MS;
}

/** The fields behind the process's name, which may itself hold blanks. */
function statOf(pid: string): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
