// Writes entries in batches, one at a time, and keeps each entry until it is committed.
import { type Bound, DatabaseUnavailable } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { type NextPass, WorkerLoop } from "../../platform/worker-loop.ts";
import { type LogEntry, writeEntries } from "./entry.ts";
import type { requestLogStore } from "./store/index.ts";

/**
 * Minimum time between the starts of two writes. An entry after a pause is written at once. A
 * `kill -9` loses the entries of this time and of the commit under way.
 */
const GATHER_MS = 25;
const BATCH_MAX = 256;
/** Pause after a failed write; it doubles with each further failure. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 5_000;
/** Number of failures in a row after which an entry may be at fault, if the database answers. */
const LASTING_FAILURES = 3;
/** Maximum entries in memory while the database is away: some 80 MB. */
const WAITING_MAX = 100_000;
/** Number of oldest entries dropped at once; dropping a single one would cost as much. */
const DROPPED_AT_ONCE = 1_000;
const COMPLAINT_INTERVAL_MS = 60_000;

export class EntryWriter {
  readonly #store: Pick<Bound<typeof requestLogStore>, "add">;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #loop: WorkerLoop;
  #waiting: LogEntry[] = [];
  #writing = 0;
  #begunAt = Number.NEGATIVE_INFINITY;
  #batchSize = BATCH_MAX;
  /** Number of waiting entries, the first ones, that a failed write may have committed. */
  #tried = 0;
  #failures = 0;
  #lost = 0;
  #complainedAt = Number.NEGATIVE_INFINITY;
  #lostSinceComplaint = 0;
  #onWritten: (() => void) | undefined;

  constructor(store: Pick<Bound<typeof requestLogStore>, "add">, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#loop = new WorkerLoop({
      clock,
      work: () => this.#writeBatch(),
      onError: (error) => log.error("request log: the writer failed", { error }),
      retryMs: RETRY_MS_MAX,
    });
  }

  add(entry: LogEntry): void {
    this.#waiting.push(entry);
    if (this.#waiting.length > WAITING_MAX) this.#dropOldest();
    // A pass under way plans the next one itself.
    if (this.#loop.isRunning || this.#failures > 0) return;
    if (this.#waiting.length >= BATCH_MAX) this.#loop.wake();
    // Deferred by a timer, so that the caller's reply is sent first.
    else this.#loop.wakeWithin(this.#delayMs());
  }

  status() {
    return { unwritten: this.#waiting.length + this.#writing, lost: this.#lost };
  }

  async finish(deadlineMs: number): Promise<number> {
    const written = Promise.withResolvers<void>();
    const cancelDeadline = this.#clock.after(deadlineMs, written.resolve);
    this.#onWritten = written.resolve;
    this.#loop.wake();
    await written.promise;
    cancelDeadline();
    // A hanging write must not block the stop.
    void this.#loop.stop();
    return this.status().unwritten;
  }

  async #writeBatch(): Promise<NextPass> {
    const batch = this.#waiting.splice(0, this.#batchSize);
    if (batch.length > 0) {
      this.#begunAt = this.#clock.monotonic();
      this.#writing = batch.length;
      try {
        await this.#store.add(writeEntries(batch), this.#tried > 0);
        this.#tried = Math.max(0, this.#tried - batch.length);
        this.#batchSize = Math.min(BATCH_MAX, 2 * this.#batchSize);
        this.#failures = 0;
      } catch (error) {
        this.#handleFailure(batch, error);
      }
      this.#writing = 0;
    }
    if (this.#waiting.length === 0) {
      this.#onWritten?.();
      return "on_wake";
    }
    if (this.#failures > 0) {
      return { inMs: Math.min(RETRY_MS * 2 ** (this.#failures - 1), RETRY_MS_MAX) };
    }
    const isDue = this.#onWritten || this.#waiting.length >= BATCH_MAX || this.#delayMs() === 0;
    return isDue ? "now" : { inMs: this.#delayMs() };
  }

  /** Retries smaller and smaller batches until the entry at fault is alone, and drops it. */
  #handleFailure(batch: LogEntry[], error: unknown): void {
    this.#failures += 1;
    const isAway = error instanceof DatabaseUnavailable;
    const isLasting = !isAway && this.#failures >= LASTING_FAILURES;
    if (isLasting && batch.length === 1) {
      this.#lost += 1;
      this.#tried = Math.max(0, this.#tried - 1);
      const { request_id, key_id } = batch[0]!;
      const fields = { request_id, key_id, error };
      this.#log.error("request log: an entry cannot be written and is lost", fields);
      return;
    }
    this.#waiting = batch.concat(this.#waiting);
    this.#tried = Math.max(this.#tried, batch.length);
    if (isLasting) this.#batchSize = Math.ceil(batch.length / 2);
    this.#complain(error);
  }

  #dropOldest(): void {
    this.#waiting.splice(0, DROPPED_AT_ONCE);
    this.#tried = Math.max(0, this.#tried - DROPPED_AT_ONCE);
    this.#lost += DROPPED_AT_ONCE;
    this.#lostSinceComplaint += DROPPED_AT_ONCE;
    this.#complain();
  }

  #complain(error?: unknown): void {
    const now = this.#clock.monotonic();
    if (now - this.#complainedAt < COMPLAINT_INTERVAL_MS) return;
    this.#complainedAt = now;
    const rows = this.#lostSinceComplaint;
    this.#lostSinceComplaint = 0;
    if (rows > 0) this.#log.error("request log: entries are lost", { rows });
    else this.#log.error("request log: entries wait because writing fails", { error });
  }

  #delayMs(): number {
    return Math.max(0, this.#begunAt + GATHER_MS - this.#clock.monotonic());
  }
}
