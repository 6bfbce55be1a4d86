import { timingSafeEqual } from 'node:crypto';
import type { Actor } from '../../kernel/actor.js';
import { hashOf, keyIdOf } from './keys.js';
import type { KeyOwner } from './store.js';

/** A key is believed for this long after it was last looked up, whatever happens to the database. */
export const BELIEVED_MS = 5_000;
/** From this age on a key in use is looked up again, beside the requests. */
const FRESH_MS = 2_000;
/** How long an unknown key stays unknown. */
const REFUSED_MS = 1_000;
const KEYS_MAX = 10_000;
const REFUSED_MAX = 1_000;

/** Where keys are looked up. */
export interface KeySource {
  readonly find: (keyId: string) => Promise<KeyOwner | null>;
  /** Which of these are in force. */
  readonly live: (keyIds: readonly string[]) => Promise<ReadonlySet<string>>;
}

interface Known {
  readonly keyId: string;
  readonly actor: Actor;
  /** When the look-up began that found it in force. */
  checkedAt: number;
}

/**
 * Who a key belongs to, answered without a promise while the key is in use. A key revoked in this process is forgotten at
 * once, one revoked in another process within `BELIEVED_MS`.
 */
export class KeyCache {
  /** In the order of last use, so that the first is the one to drop. */
  private readonly known = new Map<string, Known>();
  private readonly refused = new Map<string, number>();
  private readonly pending = new Map<string, Promise<Actor | null>>();
  private readonly due = new Map<string, Known>();
  private checking = false;
  /** Raised by each revocation: what was looked up before one is not kept after it. */
  private generation = 0;

  constructor(
    private readonly source: KeySource,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** The agent of a key; null when it is unknown or revoked. Rejects when that cannot be known now. */
  find(token: string): Actor | null | Promise<Actor | null> {
    const known = this.known.get(token);
    const now = this.nowMs();
    if (known !== undefined) {
      const age = now - known.checkedAt;
      if (age < BELIEVED_MS) {
        if (age >= FRESH_MS) this.checkSoon(token, known);
        this.known.delete(token);
        this.known.set(token, known);
        return known.actor;
      }
      this.known.delete(token);
    }
    const refusedAt = this.refused.get(token);
    if (refusedAt !== undefined && now - refusedAt < REFUSED_MS) return null;
    const keyId = keyIdOf(token);
    if (keyId === null) return null;
    const running = this.pending.get(token);
    if (running !== undefined) return running;
    const search = this.lookUp(token, keyId).finally(() => this.pending.delete(token));
    this.pending.set(token, search);
    return search;
  }

  /** Forgets a key that was revoked. */
  forget(keyId: string): void {
    this.generation++;
    this.pending.clear();
    for (const [token, known] of this.known) if (known.keyId === keyId) this.known.delete(token);
  }

  private async lookUp(token: string, keyId: string): Promise<Actor | null> {
    const { generation } = this;
    const startedAt = this.nowMs();
    const owner = await this.source.find(keyId);
    if (owner === null || owner.isRevoked || !isOwnersKey(owner, token)) {
      keep(this.refused, token, startedAt, REFUSED_MAX);
      return null;
    }
    if (generation === this.generation)
      keep(this.known, token, { keyId, actor: owner.actor, checkedAt: startedAt }, KEYS_MAX);
    return owner.actor;
  }

  private checkSoon(token: string, known: Known): void {
    this.due.set(token, known);
    if (this.checking) return;
    this.checking = true;
    void this.checkDue();
  }

  /** Looks all keys in use up again with one query. When it fails they grow old, and the next request asks itself. */
  private async checkDue(): Promise<void> {
    // What is due in the same turn of the event loop goes together.
    await new Promise(setImmediate);
    const checked = [...this.due];
    this.due.clear();
    const startedAt = this.nowMs();
    try {
      const live = await this.source.live(checked.map(([, { keyId }]) => keyId));
      for (const [token, known] of checked) {
        if (live.has(known.keyId)) known.checkedAt = startedAt;
        else this.known.delete(token);
      }
    } catch {
      // Told to the request that finds its key too old.
    } finally {
      this.checking = false;
    }
  }
}

function isOwnersKey(owner: KeyOwner, token: string): boolean {
  const hash = hashOf(token);
  return owner.hash.length === hash.length && timingSafeEqual(owner.hash, hash);
}

function keep<T>(map: Map<string, T>, key: string, value: T, max: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
}
