// Deletes rows that are older than the settings keep them: hourly, and never by a doubtful clock.
import type { Process } from "../cluster/index.ts";
import type { Bound, Database } from "../database/index.ts";
import { type Clock, settlesWithin, wait } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { WorkerLoop } from "../platform/worker-loop.ts";
import { type SweepRow, sweepStore } from "./store.ts";

/** Interval between checks whether a sweep is due. */
const CHECK_EVERY_MS = 300_000;
/** Minimum gain or loss between two checks that counts as a step of the wall clock. */
const STEP_MS = 60_000;
/** Maximum rows of one write: it takes milliseconds, and others run in between. */
const ROWS_MAX = 2_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Interval between sweeps. */
const SWEEP_EVERY_MS = HOUR_MS;
/** Minimum time since the clock's last step before a sweep. */
const SETTLE_MS = HOUR_MS;
/** Age of the last sweep after which the next one runs soon after a step of the clock, too. */
const OVERDUE_MS = DAY_MS;
/** Lead over the last trusted sweep from which the clock is doubtful. */
const DOUBT_MS = 7 * DAY_MS;
/** Minimum time since the last step of a doubtful clock before it is trusted. */
const TRUST_AFTER_MS = DAY_MS;

/** Asked between two writes: true at the stop. It may rest, so that callers' writes run first. */
export type IsStopping = () => boolean | Promise<boolean>;

export interface Sweep {
  what: string;
  /** Deletes what is old at `now` and returns the number of rows; stops between two writes. */
  run(now: number, isStopping: IsStopping): Promise<number>;
}

/** Calls `sweepSome`, which returns the number of deleted rows, until none are left. */
export async function sweepRows(
  isStopping: IsStopping,
  sweepSome: (limit: number) => Promise<number>,
): Promise<number> {
  let total = 0;
  for (let swept = ROWS_MAX; swept === ROWS_MAX && !(await isStopping()); total += swept) {
    swept = await sweepSome(ROWS_MAX);
  }
  return total;
}

export interface SweeperOptions {
  database: Pick<Database, "bind">;
  process: Pick<Process, "withLease">;
  clock: Clock;
  log: Log;
  sweeps: readonly Sweep[];
}

export class Sweeper implements Service {
  readonly name = "sweeper";
  readonly #options: SweeperOptions;
  readonly #store: Bound<typeof sweepStore>;
  #offsetMs: number;
  #settledAt: number;
  #isDoubtful = false;
  readonly #loop: WorkerLoop;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#store = options.database.bind(sweepStore);
    this.#offsetMs = this.#readOffset();
    this.#settledAt = options.clock.monotonic();
    this.#loop = new WorkerLoop({
      clock: options.clock,
      work: async (stopping) => {
        await this.#check(stopping);
        return { inMs: CHECK_EVERY_MS };
      },
      onError: (error) =>
        options.log.warn("sweep: the last sweep could not be looked at", { error }),
      retryMs: CHECK_EVERY_MS,
    });
  }

  start(): void {
    this.#loop.wake();
  }

  async stop(deadlineMs: number): Promise<void> {
    await settlesWithin(this.#options.clock, deadlineMs, this.#loop.stop());
  }

  pause(): Promise<void> {
    return this.#loop.pause();
  }

  resume(): void {
    this.#loop.resume();
  }

  async #check(stopping: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const settledMs = this.#measureSettled();
    const row = await this.#store.find();
    if (row.swept_at === null || row.witnessed_at === null) return this.#store.begin(clock.now());
    const decision = decideSweep(row, clock.now(), settledMs);
    if (decision === "doubtful" && !this.#isDoubtful) {
      const written_at = new Date(row.witnessed_at).toISOString();
      log.warn(
        "sweep: nothing is deleted, for the clock is over 7 days ahead of what was written last; " +
          "`wadi sweep --now` sweeps where the clock is right, and so does a server after 24 hours",
        { written_at },
      );
    }
    this.#isDoubtful = decision === "doubtful";
    if (decision !== "sweep") return;
    await this.#options.process.withLease("sweeps", async () => {
      // Another process may have swept since the look.
      const fresh = await this.#store.find();
      if (decideSweep(fresh, clock.now(), settledMs) !== "sweep") return;
      await this.#sweepAll(clock.now(), stopping);
    });
  }

  async #sweepAll(now: number, stopping: AbortSignal): Promise<void> {
    for (const sweep of this.#options.sweeps) {
      if (stopping.aborted) return;
      await this.#runSweep(sweep, now, stopping);
    }
    if (!stopping.aborted) await this.#store.note(now);
  }

  /** Logs a failure: the next sweep finds the same rows. */
  async #runSweep({ what, run }: Sweep, now: number, stopping: AbortSignal): Promise<void> {
    const { log } = this.#options;
    try {
      const rows = await run(now, this.#createRest(stopping));
      if (rows > 0) log.info("sweep: old rows were deleted", { what, rows });
    } catch (error) {
      log.warn("sweep: old rows could not be deleted", { what, error });
    }
  }

  /** Rests as long as the write before took, its wait included: half of the time is for callers. */
  #createRest(stopping: AbortSignal): IsStopping {
    const { clock } = this.#options;
    let resumedAt = clock.monotonic();
    return async () => {
      const tookMs = clock.monotonic() - resumedAt;
      if (tookMs > 0) await wait(clock, tookMs, stopping);
      resumedAt = clock.monotonic();
      return stopping.aborted;
    };
  }

  #measureSettled(): number {
    const now = this.#options.clock.monotonic();
    const offsetMs = this.#readOffset();
    if (Math.abs(offsetMs - this.#offsetMs) > STEP_MS) this.#settledAt = now;
    this.#offsetMs = offsetMs;
    return now - this.#settledAt;
  }

  #readOffset(): number {
    const { clock } = this.#options;
    return clock.now() - clock.monotonic();
  }
}

function decideSweep(row: SweepRow, now: number, settledMs: number): "sweep" | "wait" | "doubtful" {
  if (row.swept_at === null || row.witnessed_at === null) return "wait";
  if (isDoubtful(row, now) && settledMs < TRUST_AFTER_MS) return "doubtful";
  const sinceMs = now - row.swept_at;
  if (sinceMs > OVERDUE_MS) return "sweep";
  // A time ahead was written by a wrong clock.
  const isRecent = sinceMs >= 0 && sinceMs < SWEEP_EVERY_MS;
  return settledMs < SETTLE_MS || isRecent ? "wait" : "sweep";
}

export function isDoubtful({ witnessed_at }: SweepRow, now: number): boolean {
  return witnessed_at !== null && now - witnessed_at > DOUBT_MS;
}
