import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Node {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

/** What `node --cpu-prof` writes: a tree of calls, and at each tick the call that was running. Times in microseconds. */
interface Profile {
  readonly nodes: readonly Node[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A stretch of the machine's steady clock, which all processes share. */
export interface Stretch {
  readonly from: bigint;
  readonly until: bigint;
}

/** The share of a process's working time, in a stretch of it, in which some function of these files was running or waited for one it called. */
export async function shareOf(
  folder: string,
  { from, until }: Stretch,
  isIn: (url: string) => boolean,
): Promise<number> {
  const { nodes, startTime, samples, timeDeltas } = await profileIn(folder);
  const kinds = kindsOf(nodes, isIn);
  const sums = { inside: 0, outside: 0, idle: 0 };
  let at = startTime;
  samples.forEach((id, i) => {
    const spent = timeDeltas[i] ?? 0;
    at += spent;
    if (at < Number(from / 1000n) || at > Number(until / 1000n)) return;
    sums[kinds.get(id) ?? 'outside'] += spent;
  });
  return sums.inside / (sums.inside + sums.outside);
}

async function profileIn(folder: string): Promise<Profile> {
  const file = (await readdir(folder)).find((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error('the service left no profile');
  return JSON.parse(await readFile(join(folder, file), 'utf8'));
}

type Kind = 'inside' | 'outside' | 'idle';

/** For each call of the tree, whether it or one above it is in these files. */
function kindsOf(nodes: readonly Node[], isIn: (url: string) => boolean): Map<number, Kind> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const kinds = new Map<number, Kind>();
  const open: { readonly node: Node | undefined; readonly above: Kind }[] = [
    { node: nodes[0], above: 'outside' },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, above } = next;
    if (node === undefined) continue;
    const { functionName, url } = node.callFrame;
    const own: Kind = functionName === '(idle)' ? 'idle' : isIn(url) ? 'inside' : above;
    kinds.set(node.id, own);
    for (const id of node.children ?? []) open.push({ node: byId.get(id), above: own });
  }
  return kinds;
}
