/**
 * The offset that tests add to the database's clock, in milliseconds. A served process has none: every decision's time
 * is the database's own.
 */
export interface Clock {
  readonly offsetMs: () => number;
}

/** The database's time as it is. */
export const databaseClock: Clock = { offsetMs: () => 0 };

/** A clock that a test moves by hand. */
export function movableClock(): Clock & { advance(seconds: number): void } {
  let offset = 0;
  return {
    offsetMs: () => offset,
    advance(seconds) {
      offset += seconds * 1000;
    },
  };
}
