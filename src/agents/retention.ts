// Deletes what is old: finished runs, events that were told, keys of requests. Sums and messages
// stay.
import { type Cancel, endsWithin } from "../platform/clock.ts";
import { outboxStore } from "../platform/outbox/store.ts";
import type { Service } from "../platform/service.ts";
import type { Around } from "./around.ts";
import { IDEMPOTENCY_MS } from "./runs/store/admission.ts";
import { runStore } from "./runs/store/index.ts";

const SWEEP_EVERY_MS = 3_600_000;
/** A write of so many takes milliseconds, so that others get their turn in between. */
const RUNS_AT_ONCE = 100;
const ROWS_AT_ONCE = 2_000;

/** Sweeps at its start, and every hour. */
export function createRetention({ database, clock, log, settings }: Around): Service {
  const runs = database.bind(runStore);
  const outbox = database.bind(outboxStore);
  let isStopping = false;
  let sweeping: Promise<void> = Promise.resolve();
  let cancel: Cancel | undefined;

  const sweepRuns = async (until: number) => {
    for (let after: string | null = ""; after !== null && !isStopping; ) {
      after = (await runs.sweep(after, until, RUNS_AT_ONCE)).after_id;
    }
  };
  const sweepRows = async (sweepSome: (limit: number) => Promise<number>) => {
    for (let swept = ROWS_AT_ONCE; swept === ROWS_AT_ONCE && !isStopping; ) {
      swept = await sweepSome(ROWS_AT_ONCE);
    }
  };
  const sweepAll = async () => {
    const now = clock.now();
    const keep = settings().retention;
    if (keep.runs !== null) await sweepRuns(now - keep.runs);
    const { events } = keep;
    if (events !== null) await sweepRows((limit) => outbox.sweep(now - events, limit));
    await sweepRows((limit) => runs.sweepStarts(now - IDEMPOTENCY_MS, limit));
  };
  const sweep = async () => {
    try {
      await sweepAll();
    } catch (error) {
      // What is old stays old: the next hour finds it.
      log.warn("old runs and events could not be deleted", { error });
    }
    if (!isStopping) cancel = clock.after(SWEEP_EVERY_MS, begin);
  };
  const begin = () => {
    sweeping = sweep();
  };
  return {
    name: "retention of runs",
    start: begin,
    async stop(deadline_ms) {
      isStopping = true;
      cancel?.();
      await endsWithin(clock, deadline_ms, sweeping);
    },
  };
}
