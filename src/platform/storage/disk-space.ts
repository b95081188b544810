// Guards the last room on the disk: what is new is refused, so that what runs can still end.
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../clock.ts";
import type { Place } from "../database/index.ts";
import type { Metrics } from "../metrics.ts";
import { refuse } from "../refusal.ts";

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
  place: Place,
  clock: Pick<Clock, "monotonic">,
  freeMin: () => number,
): DiskSpace {
  let looked_at = Number.NEGATIVE_INFINITY;
  let free: number | null = null;

  return {
    require() {
      if (freeMin() === 0) return;
      const now = clock.monotonic();
      if (now - looked_at >= LOOK_EVERY_MS) {
        looked_at = now;
        free = readFreeBytes(place);
      }
      if (free === null || free >= freeMin()) return;
      const message =
        "The disk of the server is nearly full: nothing new is accepted until there is room. " +
        "Runs that are under way go on.";
      throw refuse("service_unavailable", {
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
export function readFreeBytes(place: Place): number | null {
  if (place.kind !== "sqlite") return null;
  try {
    const { bavail, bsize } = statfsSync(dirname(place.file));
    return bavail * bsize;
  } catch {
    return null;
  }
}
