import { isRecord, type Ref, type RefKind } from './template.js';

/** How much of each kind is kept in mind: what is older has mostly come to rest. */
const KEPT = 60;

/** An object as last heard of. */
interface Known {
  readonly state: string;
  readonly version: number;
  readonly attempt: number;
}

/** The states in which an operation leads somewhere. */
const APT: Readonly<Record<string, readonly string[]>> = {
  claim_task: ['pending', 'rework', 'in_review'],
  heartbeat_task: ['in_progress'],
  report_usage: ['in_progress'],
  submit_task: ['in_progress'],
  fail_task: ['in_progress'],
  release_task: ['in_progress'],
  approve_task: ['in_review'],
  rework_task: ['in_review'],
  block_task: ['pending', 'rework'],
  unblock_task: ['blocked'],
  update_task: ['pending', 'rework', 'blocked'],
  cancel_task: ['blocked', 'rework'],
  update_run: ['open'],
  close_run: ['tripped'],
  recover_run: ['tripped'],
  recover_trip: ['open'],
};

const PREFIXES: readonly (readonly [string, RefKind])[] = [
  ['task_', 'task'],
  ['run_', 'run'],
  ['trip_', 'trip'],
  ['brk_', 'breaker'],
  ['agt_', 'agent'],
  ['prj_', 'project'],
];

/** What is known of a project from its answers, so that requests can name what is there. */
export class Board {
  private readonly objects = new Map<string, Map<string, Known>>();
  /** By task. */
  private readonly leases = new Map<string, { readonly token: number; readonly holder: string }>();
  /** By operation. */
  private readonly cursors = new Map<string, Map<string, string>>();
  /** Of agents that were made on the way: nobody calls with these, so that they may be revoked. */
  private readonly keys = new Map<string, string>();

  /** Notes every object in an answer to `caller`. */
  learn(answer: unknown, operation: string, caller: string): void {
    if (Array.isArray(answer)) {
      for (const part of answer) this.learn(part, operation, caller);
      return;
    }
    if (!isRecord(answer)) return;
    this.note(answer, operation, caller);
    for (const part of Object.values(answer)) this.learn(part, operation, caller);
  }

  private note(fields: Readonly<Record<string, unknown>>, operation: string, caller: string): void {
    const { id, state = '', version = 1, attempt = 1, task, lease_token: token, next_cursor, keys } = fields;
    if (typeof next_cursor === 'string') put(mapIn(this.cursors, operation), next_cursor, next_cursor);
    if (typeof token === 'number' && isRecord(task))
      put(this.leases, String(task.id), { token, holder: caller });
    if (typeof id !== 'string') return;
    const known = { state: String(state), version: Number(version), attempt: Number(attempt) };
    for (const [prefix, kind] of PREFIXES)
      if (id.startsWith(prefix)) put(mapIn(this.objects, kind), id, known);
    if (operation !== 'create_agent' || !Array.isArray(keys)) return;
    for (const key of keys) if (isRecord(key)) put(this.keys, id, String(key.id));
  }

  /** Who held a task when it was last heard of. */
  holderOf(taskId: string): string | null {
    return this.leases.get(taskId)?.holder ?? null;
  }

  /** The value that a reference stands for now; `subject` is the id in the path of the request. */
  find({ kind, pick }: Ref, operation: string, subject: string): string | number | null {
    switch (kind) {
      case 'lease':
        return this.leases.get(subject)?.token ?? 1;
      case 'attempt':
        return Math.max(1, this.objects.get('task')?.get(subject)?.attempt ?? 1);
      case 'state':
        return this.objects.get('task')?.get(subject)?.state ?? 'pending';
      case 'etag':
        return `"v${this.versionOf(subject)}"`;
      case 'key':
        return this.keys.get(subject) ?? null;
      case 'cursor':
        return pickOf([...(this.cursors.get(operation)?.keys() ?? [])], pick);
      case 'agent':
        if (operation === 'revoke_agent_key') return pickOf([...this.keys.keys()], pick);
    }
    return this.pickObject(kind, operation, pick);
  }

  private versionOf(subject: string): number {
    for (const known of this.objects.values()) {
      const version = known.get(subject)?.version;
      if (version !== undefined) return version;
    }
    return 1;
  }

  /** Mostly one in a state that the operation is for. */
  private pickObject(kind: RefKind, operation: string, pick: number): string | null {
    const known = [...(this.objects.get(kind) ?? [])];
    const states = APT[operation];
    const apt = known.filter(([, { state }]) => states?.includes(state) ?? true);
    const from = apt.length > 0 && pick % 5 > 0 ? apt : known;
    return pickOf(
      from.map(([id]) => id),
      pick,
    );
  }
}

function mapIn<K, V>(maps: Map<K, Map<string, V>>, key: K): Map<string, V> {
  const map = maps.get(key) ?? new Map<string, V>();
  maps.set(key, map);
  return map;
}

function put<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= KEPT) return;
    map.delete(oldest);
  }
}

function pickOf(items: readonly string[], pick: number): string | null {
  return items[pick % items.length] ?? null;
}
