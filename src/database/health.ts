// Whether the database can be relied on now: the one state that readiness reads and callers meet.
import type { Clock } from "../platform/clock.ts";
import type { Log, LogFields } from "../platform/log.ts";
import type { DatabaseLocation } from "./engine.ts";
import { DatabaseUnavailable, DatabaseUnusable, explainPostgres, explainSqlite } from "./errors.ts";
import { probeStore } from "./probe.ts";
import type { DatabaseEngine } from "./store.ts";

/** Interval between two reports of failures: under load thousands fail in a second. */
const REPORT_EVERY_MS = 1_000;

export interface DatabaseHealthOptions {
  clock: Clock;
  onFailure(failure: DatabaseUnavailable): void;
  onRecovery?(): void;
}

export interface GuardedEngine {
  /** Throws DatabaseUnavailable where the disk or the server is at fault. */
  engine: DatabaseEngine;
  /** Throws when the database cannot be written to. */
  probe(): Promise<void>;
}

/**
 * Tells failures of the disk and of the database server from those of a statement. After one the
 * database counts as failing until a write of a caller, or one of its size, has been committed.
 */
export function guardEngine(
  engine: DatabaseEngine,
  place: DatabaseLocation,
  options: DatabaseHealthOptions,
): GuardedEngine {
  const { clock, onFailure, onRecovery } = options;
  let isFailing = false;
  let isClosed = false;
  let reportedAt = Number.NEGATIVE_INFINITY;
  /** A report of failure was made, and none of recovery since. */
  let isReported = false;

  const fail = (failure: unknown): never => {
    const explained = isClosed ? failure : explain(place, failure);
    // Behind the end nothing comes back, so that nobody may try again.
    if (!(explained instanceof DatabaseUnusable)) throw failure;
    const unavailable = new DatabaseUnavailable(explained.message, { cause: failure });
    isFailing = true;
    const now = clock.monotonic();
    if (now - reportedAt >= REPORT_EVERY_MS) {
      reportedAt = now;
      isReported = true;
      onFailure(unavailable);
    }
    throw unavailable;
  };
  const recover = () => {
    isFailing = false;
    if (isReported) onRecovery?.();
    isReported = false;
  };
  const write = async (name: string, method: string, args: unknown[]) => {
    try {
      const value = await engine.write(name, method, args);
      if (isFailing && name !== probeStore.name) recover();
      return value;
    } catch (failure) {
      return fail(failure);
    }
  };
  return {
    engine: {
      ...engine,
      async read(work, keptAs) {
        try {
          return await engine.read(work, keptAs);
        } catch (failure) {
          return fail(failure);
        }
      },
      write,
      close() {
        isClosed = true;
        return engine.close();
      },
    },
    async probe() {
      const wasFailing = isFailing;
      if (wasFailing) await write(probeStore.name, "fill", [clock.now()]);
      await write(probeStore.name, "touch", [clock.now()]);
      if (wasFailing && isFailing) recover();
    },
  };
}

/** A log without what meets a failing database: that is reported once a second, in one place. */
export function omitUnavailable(log: Log): Log {
  const isOther = (fields?: LogFields) => !(fields?.error instanceof DatabaseUnavailable);
  return {
    info: log.info,
    warn: (message, fields) => void (isOther(fields) && log.warn(message, fields)),
    error: (message, fields) => void (isOther(fields) && log.error(message, fields)),
  };
}

function explain(place: DatabaseLocation, failure: unknown): unknown {
  if (place.kind === "postgres") return explainPostgres(place.url, failure);
  return explainSqlite(place.kind === "sqlite" ? place.file : ":memory:", failure);
}
