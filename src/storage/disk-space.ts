// Guards the last room on the disk: what is new is refused, so that what runs can still end.
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseLocation } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";
import type { Metrics } from "../platform/metrics.ts";

export interface DiskSpace {
  /** Refuses while the disk has less free room than the settings ask for. */
  require(): void;
  show(metrics: Metrics): void;
}

/** Interval between two looks at the disk. */
const LOOK_EVERY_MS = 1_000;
/** Time until a caller may try again: an operator has to make room. */
const RETRY_S = "60";

/** `freeMin`: bytes that stay free for what is under way; 0: no bound. */
export function createDiskSpace(
  place: DatabaseLocation,
  clock: Pick<Clock, "monotonic">,
  freeMin: () => number,
): DiskSpace {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let free: number | null = null;

  return {
    require() {
      if (freeMin() === 0) return;
      const now = clock.monotonic();
      if (now - lookedAt >= LOOK_EVERY_MS) {
        lookedAt = now;
        free = readFreeBytes(place);
      }
      if (free === null || free >= freeMin()) return;
      const message =
        "The disk of the server is nearly full: nothing new is accepted until there is room. " +
        "Runs that are under way go on.";
      throw apiError("service_unavailable", {
        message,
        headers: { "retry-after": RETRY_S },
      });
    },
    show(metrics) {
      if (place.kind !== "sqlite") return;
      metrics.gauge(
        { name: "wadi_disk_free_bytes", help: "Free bytes on the disk of the data directory." },
        (set) => set(readFreeBytes(place) ?? Number.NaN),
      );
    },
  };
}

/** Bytes that this user may still write on the data's disk; null: nobody here can tell. */
export function readFreeBytes(place: DatabaseLocation): number | null {
  if (place.kind !== "sqlite") return null;
  try {
    const { bavail, bsize } = statfsSync(dirname(place.file));
    return bavail * bsize;
  } catch {
    return null;
  }
}
