import { OPERATIONS } from './contract.js';
import { KINDS, type Kind } from './template.js';
import { codeIn, type Exchange } from './verdict.js';

/** How requests of each kind were answered. */
export class Tally {
  private readonly statuses = new Map<Kind, Map<string, number>>();
  private readonly done = new Map<string, number>();
  private readonly codes = new Map<string, number>();
  slowestMs = 0;

  count({ kind, template, reply }: Exchange): void {
    const status = reply.status === null ? reply.ended : String(reply.status);
    const counts = this.statuses.get(kind) ?? new Map<string, number>();
    this.statuses.set(kind, counts.set(status, (counts.get(status) ?? 0) + 1));
    const { id } = template.operation;
    if (kind === 'valid' && reply.status !== null && reply.status < 300) add(this.done, id);
    const code = codeIn(reply);
    if (code !== '') add(this.codes, code);
    if (reply.ended === 'whole') this.slowestMs = Math.max(this.slowestMs, reply.ms);
  }

  /** The operations that no request has led through. */
  neverDone(): string[] {
    return OPERATIONS.map(({ id }) => id).filter((id) => !this.done.has(id));
  }

  toString(): string {
    const kinds = KINDS.map((kind) => `${kind} ${listed(this.statuses.get(kind) ?? new Map())}`);
    return [...kinds, `refusals ${listed(this.codes)}`].join('\n');
  }
}

function listed(counts: ReadonlyMap<string, number>): string {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const each = [...counts].sort(([one], [other]) => one.localeCompare(other));
  return `${total}: ${each.map(([name, count]) => `${name} ${count}`).join(', ')}`;
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
