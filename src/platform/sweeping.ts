// What deletes old rows: a service that sweeps at its start and every hour, a little at a time.
import { type Cancel, type Clock, endsWithin } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Service } from "./service.ts";

const SWEEP_EVERY_MS = 3_600_000;
/** A write of so many takes milliseconds: others get their turn in between. */
const ROWS_AT_ONCE = 2_000;

export interface SweepingOptions {
  name: string;
  /** For the log, when it fails: "old entries of the ledger". */
  what: string;
  clock: Clock;
  log: Log;
  /** Sweeps all that is old; asks `isStopping` between two writes. */
  sweep(isStopping: () => boolean): Promise<void>;
}

export function createSweeping({ name, what, clock, log, sweep }: SweepingOptions): Service {
  let isStopping = false;
  let sweeping: Promise<void> = Promise.resolve();
  let cancel: Cancel | undefined;

  const sweepOnce = async () => {
    try {
      await sweep(() => isStopping);
    } catch (error) {
      // What is old stays old: the next hour finds it.
      log.warn(`${what} could not be deleted`, { error });
    }
    if (!isStopping) cancel = clock.after(SWEEP_EVERY_MS, begin);
  };
  const begin = () => {
    sweeping = sweepOnce();
  };
  return {
    name,
    start: begin,
    async stop(deadline_ms) {
      isStopping = true;
      cancel?.();
      await endsWithin(clock, deadline_ms, sweeping);
    },
  };
}

/** Calls `sweepSome`, which tells how many rows it has deleted, until there are no more. */
export async function sweepRows(
  isStopping: () => boolean,
  sweepSome: (limit: number) => Promise<number>,
): Promise<void> {
  for (let swept = ROWS_AT_ONCE; swept === ROWS_AT_ONCE && !isStopping(); ) {
    swept = await sweepSome(ROWS_AT_ONCE);
  }
}
