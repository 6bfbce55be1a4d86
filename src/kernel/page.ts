/** One page of a list, in the order of the list. */
export interface Page<T> {
  readonly data: readonly T[];
  /** Pass as `cursor` to read on; null at the end. */
  readonly nextCursor: string | null;
}

/** What a caller asks of a list. */
export interface PageRequest {
  readonly limit: number;
  /** The decoded cursor: the sort key of the last row already seen. */
  readonly after: string | null;
}

export const PAGE_LIMIT_DEFAULT = 50;
export const PAGE_LIMIT_MAX = 200;

/** Opaque to callers, so that the sort key may change without breaking them. */
export function encodeCursor(key: string): string {
  return Buffer.from(key, 'utf8').toString('base64url');
}

/** The sort key in a cursor, or null when it is not one of ours. */
export function decodeCursor(cursor: string): string | null {
  if (!/^[A-Za-z0-9_-]{1,400}$/.test(cursor)) return null;
  const key = Buffer.from(cursor, 'base64url').toString('utf8');
  return encodeCursor(key) === cursor ? key : null;
}

/** Cuts a list read with one row more than asked into a page. */
export function toPage<T>(rows: readonly T[], limit: number, keyOf: (row: T) => string): Page<T> {
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  return { data, nextCursor: rows.length > limit && last !== undefined ? encodeCursor(keyOf(last)) : null };
}
