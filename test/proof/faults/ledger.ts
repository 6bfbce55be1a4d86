import type pg from 'pg';
import type { EventType } from '../../../src/kernel/event.js';

/** One command of a client, under the id that the log will know it by. */
export interface Entry {
  readonly id: string;
  /** The fact that the log holds once when the command was carried out. */
  readonly fact: EventType;
  /** What its client knows: that it was carried out, that it was not, or nothing yet. */
  fate: 'done' | 'refused' | 'unknown';
}

/** How the log differs from what the clients were told: the ids of commands. */
export interface Differences {
  /** Acknowledged, and not in the log. */
  readonly missing: readonly string[];
  /** In the log more than once. */
  readonly twice: readonly string[];
  /** Refused, and in the log. */
  readonly unasked: readonly string[];
}

/** The log and the clients agree. */
export const NONE: Differences = { missing: [], twice: [], unasked: [] };

/** What clients were told of their commands, to be held against the log. */
export class Ledger {
  private readonly entries: Entry[] = [];
  /** How many entries from the first on have been held against the log with their fate known. */
  private settled = 0;

  add(id: string, fact: EventType): Entry {
    const entry: Entry = { id, fact, fate: 'unknown' };
    this.entries.push(entry);
    return entry;
  }

  count(fate: Entry['fate']): number {
    return this.entries.filter((entry) => entry.fate === fate).length;
  }

  /** Compares with the log what has come since it was last compared, or all of it. May be asked while commands go on. */
  async compare(pool: pg.Pool, { all = false } = {}): Promise<Differences> {
    // Taken before the log is read: what is told in the meantime is for the next time.
    const looked = this.entries.slice(all ? 0 : this.settled).map((entry) => ({ ...entry }));
    const { rows } = await pool.query<{ id: string; fact: string; times: number }>(
      `SELECT request_id AS id, type AS fact, count(*)::int AS times FROM events
        WHERE request_id = ANY($1::text[]) GROUP BY request_id, type`,
      [looked.map(({ id }) => id)],
    );
    const times = new Map(rows.map((row) => [`${row.id} ${row.fact}`, row.times]));
    const timesOf = ({ id, fact }: Entry): number => times.get(`${id} ${fact}`) ?? 0;
    const idsWhere = (is: (entry: Entry) => boolean): string[] =>
      looked.filter(is).map(({ id, fact }) => `${id} ${fact}`);
    if (!all) {
      const open = looked.findIndex(({ fate }) => fate === 'unknown');
      this.settled += open === -1 ? looked.length : open;
    }
    return {
      missing: idsWhere((entry) => entry.fate === 'done' && timesOf(entry) === 0),
      twice: idsWhere((entry) => timesOf(entry) > 1),
      unasked: idsWhere((entry) => entry.fate === 'refused' && timesOf(entry) > 0),
    };
  }
}
