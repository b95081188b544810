// Writes entries in batches, one at a time, and keeps each entry until it is committed.
import { type Bound, DatabaseUnavailable } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log, LogFields } from "../../platform/log.ts";
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
/** Number of pauses after which entries that failed alone are dropped, though none succeeded. */
const PAUSES_MAX = 3;
/** Maximum entries set aside; if more fail alone in a row, the database is suspected. */
const ASIDE_MAX = 64;
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
  /** Entries that failed alone; a write that succeeds proves that they are at fault. */
  #aside: { entry: LogEntry; error: unknown }[] = [];
  #writing = 0;
  #begunAt = Number.NEGATIVE_INFINITY;
  #batchSize = BATCH_MAX;
  /** Number of waiting entries, the first ones, that a failed write may have committed. */
  #tried = 0;
  #pauses = 0;
  #lost = 0;
  #lostUntold = 0;
  #lossToldAt = Number.NEGATIVE_INFINITY;
  #pauseToldAt = Number.NEGATIVE_INFINITY;
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
    if (this.#loop.isRunning || this.#pauses > 0) return;
    if (this.#waiting.length >= BATCH_MAX) this.#loop.wake();
    // Deferred by a timer, so that the caller's reply is sent first.
    else this.#loop.wakeWithin(this.#delayMs());
  }

  status() {
    const unwritten = this.#waiting.length + this.#aside.length + this.#writing;
    return { unwritten, lost: this.#lost };
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
    if (batch.length > 0 && !(await this.#write(batch))) {
      this.#pauses += 1;
      return { inMs: Math.min(RETRY_MS * 2 ** (this.#pauses - 1), RETRY_MS_MAX) };
    }
    if (this.#waiting.length === 0) {
      this.#pauses = 0;
      this.#onWritten?.();
      return "on_wake";
    }
    const isDue = this.#onWritten || this.#waiting.length >= this.#batchSize;
    return isDue || this.#delayMs() === 0 ? "now" : { inMs: this.#delayMs() };
  }

  /** Returns false where a pause is needed. */
  async #write(batch: readonly LogEntry[]): Promise<boolean> {
    const isRetry = this.#tried > 0;
    this.#tried = Math.max(0, this.#tried - batch.length);
    this.#begunAt = this.#clock.monotonic();
    this.#writing = batch.length;
    try {
      await this.#store.add(writeEntries(batch), isRetry);
    } catch (error) {
      return this.#handleFailure(batch, error);
    } finally {
      this.#writing = 0;
    }
    this.#batchSize = Math.min(BATCH_MAX, 2 * this.#batchSize);
    this.#pauses = 0;
    this.#dropAside();
    return true;
  }

  /** Halves the batch at once until the entry at fault is alone, and sets that one aside. */
  #handleFailure(batch: readonly LogEntry[], error: unknown): boolean {
    if (batch.length > 1) this.#putBack(batch);
    else this.#aside.push({ entry: batch[0]!, error });
    if (!(error instanceof DatabaseUnavailable)) {
      this.#batchSize = Math.ceil(batch.length / 2);
      if (this.#waiting.length > 0 && this.#aside.length < ASIDE_MAX) return true;
      if (this.#pauses >= PAUSES_MAX) this.#dropAside();
    }
    this.#putBack(this.#aside.splice(0).map(({ entry }) => entry));
    if (this.#waiting.length === 0) return true;
    this.#complain(error);
    return false;
  }

  #putBack(entries: readonly LogEntry[]): void {
    this.#waiting = entries.concat(this.#waiting);
    this.#tried += entries.length;
  }

  #dropAside(): void {
    const [first] = this.#aside;
    if (!first) return;
    const { entry, error } = first;
    const { request_id, key_id } = entry;
    this.#countLost(this.#aside.splice(0).length, { request_id, key_id, error });
  }

  #dropOldest(): void {
    this.#waiting.splice(0, DROPPED_AT_ONCE);
    this.#tried = Math.max(0, this.#tried - DROPPED_AT_ONCE);
    this.#countLost(DROPPED_AT_ONCE);
  }

  /** `fields` are of one of the entries. */
  #countLost(rows: number, fields: LogFields = {}): void {
    this.#lost += rows;
    this.#lostUntold += rows;
    const now = this.#clock.monotonic();
    if (now - this.#lossToldAt < COMPLAINT_INTERVAL_MS) return;
    this.#lossToldAt = now;
    this.#log.error("request log: entries are lost", { rows: this.#lostUntold, ...fields });
    this.#lostUntold = 0;
  }

  #complain(error: unknown): void {
    const now = this.#clock.monotonic();
    if (now - this.#pauseToldAt < COMPLAINT_INTERVAL_MS) return;
    this.#pauseToldAt = now;
    this.#log.error("request log: entries wait because writing fails", { error });
  }

  #delayMs(): number {
    return Math.max(0, this.#begunAt + GATHER_MS - this.#clock.monotonic());
  }
}
