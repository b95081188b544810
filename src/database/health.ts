// Health of the database: the state that readiness shows and callers meet.
import { type Clock, wait } from "../platform/clock.ts";
import type { Log, LogFields } from "../platform/log.ts";
import { DatabaseUnavailable, DatabaseUnusable, explainPostgres, explainSqlite } from "./errors.ts";
import { probeStore } from "./registry.ts";
import type { DatabaseEngine, DatabaseLocation, Db } from "./store.ts";

/** Minimum interval between two reports: under load thousands of calls fail in a second. */
const REPORT_EVERY_MS = 1_000;
/** Pause after a failure, which keeps load off a full disk. */
const RETRY_EVERY_MS = 1_000;

export interface DatabaseHealthOptions {
  clock: Clock;
  onFailure(failure: DatabaseUnavailable): void;
  onRecovery?(): void;
}

/**
 * Turns failures of the disk or the database server into DatabaseUnavailable. The database then
 * counts as failing until a caller's write, or a probe of its size, is committed.
 */
export class GuardedEngine implements DatabaseEngine {
  readonly #engine: DatabaseEngine;
  readonly #place: DatabaseLocation;
  readonly #options: DatabaseHealthOptions;
  #isFailing = false;
  #isClosed = false;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #isReported = false;

  constructor(engine: DatabaseEngine, place: DatabaseLocation, options: DatabaseHealthOptions) {
    this.#engine = engine;
    this.#place = place;
    this.#options = options;
  }

  get name() {
    return this.#engine.name;
  }

  async read<T>(work: (db: Db) => Promise<T>, keptAs?: string): Promise<T> {
    try {
      return await this.#engine.read(work, keptAs);
    } catch (failure) {
      throw this.#explain(failure);
    }
  }

  async write(store: string, method: string, args: unknown[]): Promise<unknown> {
    try {
      const value = await this.#engine.write(store, method, args);
      if (this.#isFailing && store !== probeStore.name) this.#recover();
      return value;
    } catch (failure) {
      throw this.#explain(failure);
    }
  }

  async probe(): Promise<void> {
    const wasFailing = this.#isFailing;
    const now = this.#options.clock.now();
    if (wasFailing) await this.write(probeStore.name, "fill", [now]);
    await this.write(probeStore.name, "touch", [now]);
    if (wasFailing && this.#isFailing) this.#recover();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#engine.close();
  }

  #explain(failure: unknown): unknown {
    // A closed database never recovers, so callers must not retry.
    const explained = this.#isClosed ? failure : explain(this.#place, failure);
    if (!(explained instanceof DatabaseUnusable)) return failure;
    const unavailable = new DatabaseUnavailable(explained.message, { cause: failure });
    this.#isFailing = true;
    const now = this.#options.clock.monotonic();
    if (now - this.#reportedAt >= REPORT_EVERY_MS) {
      this.#reportedAt = now;
      this.#isReported = true;
      this.#options.onFailure(unavailable);
    }
    return unavailable;
  }

  #recover(): void {
    this.#isFailing = false;
    if (this.#isReported) this.#options.onRecovery?.();
    this.#isReported = false;
  }
}

function explain(place: DatabaseLocation, failure: unknown): unknown {
  if (place.kind === "postgres") return explainPostgres(place.url, failure);
  return explainSqlite(place.kind === "sqlite" ? place.file : ":memory:", failure);
}

/** Drops lines about a failing database, which is reported once a second in one place. */
export function omitUnavailable(log: Log): Log {
  const isOther = (fields?: LogFields) => !(fields?.error instanceof DatabaseUnavailable);
  return {
    info: log.info,
    warn: (message, fields) => void (isOther(fields) && log.warn(message, fields)),
    error: (message, fields) => void (isOther(fields) && log.error(message, fields)),
  };
}

/**
 * Repeats `work` while the database is unavailable. `isAgain` warns that an earlier attempt may
 * have been committed although its answer was lost.
 */
export async function retryUnavailable<T>(
  clock: Clock,
  work: (isAgain: boolean) => Promise<T>,
): Promise<T> {
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await work(isAgain);
    } catch (failure) {
      if (!(failure instanceof DatabaseUnavailable)) throw failure;
      await wait(clock, RETRY_EVERY_MS);
    }
  }
}
