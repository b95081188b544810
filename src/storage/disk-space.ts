// Keeps the last room of the disk for running work: new work is refused while it is short.
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Database, DatabaseLocation, DatabaseSize } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";
import { keepReading, type Metrics } from "../platform/metrics.ts";

const MEASURE_EVERY_MS = 1_000;
/** Time until a caller may try again: an operator has to make room. */
const RETRY_S = "60";

export class DiskSpace {
  readonly #place: DatabaseLocation;
  readonly #clock: Clock;
  readonly #freeMin: () => number;
  #measuredAt = Number.NEGATIVE_INFINITY;
  #free: number | null = null;

  /** `freeMin` returns the bytes that stay free; 0 sets no bound. */
  constructor(place: DatabaseLocation, clock: Clock, freeMin: () => number) {
    this.#place = place;
    this.#clock = clock;
    this.#freeMin = freeMin;
  }

  /** Throws while the disk has less free space than the settings ask for. */
  require(): void {
    const freeMin = this.#freeMin();
    if (freeMin === 0) return;
    const now = this.#clock.monotonic();
    if (now - this.#measuredAt >= MEASURE_EVERY_MS) {
      this.#measuredAt = now;
      this.#free = readFreeBytes(this.#place);
    }
    if (this.#free === null || this.#free >= freeMin) return;
    const message =
      "The disk of the server is nearly full: nothing new is accepted until there is room. " +
      "Runs that are under way go on.";
    throw apiError("service_unavailable", { message, headers: { "retry-after": RETRY_S } });
  }

  show(metrics: Metrics, database: Pick<Database, "measure">): void {
    const measure = keepReading(this.#clock, () => database.measure());
    const showSize = (name: string, help: string, part: keyof DatabaseSize) =>
      metrics.gauge({ name, help }, async (set) => {
        const bytes = (await measure())?.[part] ?? null;
        if (bytes !== null) set(bytes);
      });
    showSize("wadi_database_bytes", "Bytes of the database.", "bytes");
    showSize("wadi_database_wal_bytes", "Bytes of SQLite's log of commits.", "wal_bytes");
    if (this.#place.kind !== "sqlite") return;
    metrics.gauge(
      { name: "wadi_disk_free_bytes", help: "Free bytes on the disk of the data directory." },
      (set) => set(readFreeBytes(this.#place) ?? Number.NaN),
    );
    metrics.gauge(
      {
        name: "wadi_disk_free_min_bytes",
        help: "Free bytes below which nothing new is accepted: limits.free_disk_bytes.",
      },
      (set) => set(this.#freeMin()),
    );
  }
}

/** Returns the bytes that this user may still write; null where the disk is not ours to ask. */
export function readFreeBytes(place: DatabaseLocation): number | null {
  if (place.kind !== "sqlite") return null;
  try {
    const { bavail, bsize } = statfsSync(dirname(place.file));
    return bavail * bsize;
  } catch {
    return null;
  }
}
