// What deletes rows that are old: each kind of row is a sweep, and one sweeper runs them all.

/** Maximum rows of one write: it takes milliseconds, and others get their turn in between. */
const ROWS_AT_ONCE = 2_000;

/** Deletes one kind of rows. */
export interface Sweep {
  /** For people and the log: "entries of the ledger". */
  what: string;
  /** Deletes what is old at `now`, and asks `isStopping` between two writes; how many rows. */
  run(now: number, isStopping: () => boolean): Promise<number>;
}

/** Calls `sweepSome`, which tells how many rows it has deleted, until there are no more. */
export async function sweepRows(
  isStopping: () => boolean,
  sweepSome: (limit: number) => Promise<number>,
): Promise<number> {
  let total = 0;
  for (let swept = ROWS_AT_ONCE; swept === ROWS_AT_ONCE && !isStopping(); total += swept) {
    swept = await sweepSome(ROWS_AT_ONCE);
  }
  return total;
}
