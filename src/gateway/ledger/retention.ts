// Deletes entries of the ledger that are older than the settings want them kept; sums stay.
import { type Cancel, type Clock, endsWithin } from "../../platform/clock.ts";
import type { Bound } from "../../platform/database/index.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import type { ledgerStore } from "./store.ts";

const SWEEP_EVERY_MS = 3_600_000;
/** A write of so many takes milliseconds: others get their turn in between. */
const SWEPT_AT_ONCE = 2_000;

export interface RetentionOptions {
  store: Pick<Bound<typeof ledgerStore>, "sweep">;
  clock: Clock;
  log: Log;
  /** How long, as it is wanted now; null: for ever. */
  keepMs(): number | null;
}

/** Sweeps at its start, and every hour. */
export function createRetention({ store, clock, log, keepMs }: RetentionOptions): Service {
  let isStopping = false;
  let sweeping: Promise<void> = Promise.resolve();
  let cancel: Cancel | undefined;

  const sweepOld = async (keep_ms: number) => {
    const until = clock.now() - keep_ms;
    for (let swept = SWEPT_AT_ONCE; swept === SWEPT_AT_ONCE && !isStopping; ) {
      swept = await store.sweep(until, SWEPT_AT_ONCE);
    }
  };
  const sweep = async () => {
    const keep_ms = keepMs();
    try {
      if (keep_ms !== null) await sweepOld(keep_ms);
    } catch (error) {
      // What is old stays old: the next hour finds it.
      log.warn("old entries of the ledger could not be deleted", { error });
    }
    if (!isStopping) cancel = clock.after(SWEEP_EVERY_MS, begin);
  };
  const begin = () => {
    sweeping = sweep();
  };
  return {
    name: "retention",
    start: begin,
    async stop(deadline_ms) {
      isStopping = true;
      cancel?.();
      await endsWithin(clock, deadline_ms, sweeping);
    },
  };
}
