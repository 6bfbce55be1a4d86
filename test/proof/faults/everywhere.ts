import { expect } from 'vitest';
import { type Command, type Reply, send, sendOnce } from './client.js';
import type { Fault, Struck } from './link.js';
import type { Rig } from './rig.js';

/** A command whose connection has broken. */
export interface Case {
  readonly command: Command;
  /** Where it did. */
  readonly statement: string;
  readonly struck: Struck;
  /** What the command is answered when it is sent once. */
  readonly first: Promise<Reply>;
}

/** What goes on beside a command: see `Network.overtake`. */
export type Overtake = Rig['network']['overtake'];

/** How often a statement is waited for that need not come each time: what was read a moment ago is not read again. */
const TRIES = 3;

/** A command that has only been sent once, and what becomes of it. */
export async function sendInto(
  rig: Rig,
  command: Command,
  fault: Fault,
): Promise<{ readonly struck: Struck | null; readonly first: Promise<Reply> }> {
  const strike = rig.network.arm(fault);
  const first = sendOnce(rig.service.url, command).then((reply) => {
    if (reply === null) throw new Error('the service did not answer');
    return reply;
  });
  // Looked at where it is awaited; that may be after it has failed.
  first.catch(() => undefined);
  const struck = await Promise.race([strike, first.then(() => null)]);
  return { struck, first };
}

/**
 * Sends a command again and again, each time on a board of its own, and breaks its connection at each of its statements in
 * turn. However that ends, the command sent once more leaves it carried out once. Answers the statements that were broken at.
 */
export async function everywhere(
  rig: Rig,
  scene: () => Promise<Command>,
  fault: Omit<Fault, 'at'>,
  check: (broken: Case) => Promise<void>,
  overtake: () => Overtake = () => null,
): Promise<string[]> {
  const { network, service } = rig;
  const tries = new Map<string, number>();
  const broken: string[] = [];
  for (let at: string | undefined = ''; at !== undefined; ) {
    const command = await scene();
    network.overtake = overtake();
    const { struck, first } = await sendInto(rig, command, { at, ...fault });
    if (struck !== null) {
      await check({ command, statement: at, struck, first });
      broken.push(at);
    }
    await first;
    for (const statement of network.seen) if (!tries.has(statement)) tries.set(statement, 0);
    network.overtake = null;
    network.arm(null);
    const { status } = await send(service.url, rig.ledger, command);
    expect(await rig.timesInLog(command)).toBe(status < 300 ? 1 : 0);
    tries.set(at, struck === null ? (tries.get(at) ?? 0) + 1 : TRIES);
    at = [...tries.keys()].find((key) => (tries.get(key) ?? 0) < TRIES);
  }
  return broken;
}
