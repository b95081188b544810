// The one service that deletes old rows: about every hour, and never by a clock that is in doubt.

import type { Database } from "../database/index.ts";
import { type Cancel, type Clock, endsWithin } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { decideSweep } from "./decision.ts";
import { sweepStore } from "./store.ts";
import type { Sweep } from "./sweep.ts";

/** Interval between two looks at the clock and at the last sweep. */
const LOOK_EVERY_MS = 300_000;
/** A wall clock that gains or loses more than this between two looks was set. */
const STEP_MS = 60_000;

export interface SweeperOptions {
  database: Pick<Database, "bind">;
  clock: Clock;
  log: Log;
  sweeps: readonly Sweep[];
}

export function createSweeper({ database, clock, log, sweeps }: SweeperOptions): Service {
  const store = database.bind(sweepStore);
  const measureSettled = createSettledTime(clock);
  let isStopping = false;
  let isDoubtSaid = false;
  let looking: Promise<void> = Promise.resolve();
  let cancel: Cancel | undefined;

  const sweepAll = async () => {
    const now = clock.now();
    for (const sweep of sweeps) {
      if (isStopping) return;
      await runSweep(sweep, now, log, () => isStopping);
    }
    if (!isStopping) await store.note(now);
  };
  const look = async () => {
    const settledMs = measureSettled();
    const row = await store.find();
    if (row.swept_at === null || row.witnessed_at === null) return store.begin(clock.now());
    const decision = decideSweep(row, clock.now(), settledMs);
    if (decision === "doubtful" && !isDoubtSaid) {
      const written_at = new Date(row.witnessed_at).toISOString();
      log.warn(
        "sweep: nothing is deleted, for the clock is over 7 days ahead of what was written last; " +
          "`wadi sweep --now` sweeps where the clock is right, and so does a server after 24 hours",
        { written_at },
      );
    }
    isDoubtSaid = decision === "doubtful";
    if (decision === "sweep") await sweepAll();
  };
  const begin = () => {
    looking = look()
      .catch((error) => log.warn("sweep: the last sweep could not be looked at", { error }))
      .then(() => {
        if (!isStopping) cancel = clock.after(LOOK_EVERY_MS, begin);
      });
  };
  return {
    name: "sweeper",
    start: begin,
    async stop(deadline_ms) {
      isStopping = true;
      cancel?.();
      await endsWithin(clock, deadline_ms, looking);
    },
  };
}

/** What fails leaves old what is old: the next sweep finds it. */
async function runSweep(
  { what, run }: Sweep,
  now: number,
  log: Pick<Log, "info" | "warn">,
  isStopping: () => boolean,
): Promise<void> {
  try {
    const rows = await run(now, isStopping);
    if (rows > 0) log.info("sweep: old rows were deleted", { what, rows });
  } catch (error) {
    log.warn("sweep: old rows could not be deleted", { what, error });
  }
}

/** Measures the time since the first call, or since the wall clock was set. */
function createSettledTime(clock: Clock): () => number {
  const readOffset = () => clock.now() - clock.monotonic();
  let offsetMs = readOffset();
  let sinceMs = clock.monotonic();
  return () => {
    const offsetNowMs = readOffset();
    if (Math.abs(offsetNowMs - offsetMs) > STEP_MS) sinceMs = clock.monotonic();
    offsetMs = offsetNowMs;
    return clock.monotonic() - sinceMs;
  };
}
