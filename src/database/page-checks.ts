// The background checks of a SQLite database's pages: behind each start, and once a day.
import type { Cancel, Clock } from "../platform/clock.ts";
import { hasFreeDescriptors } from "../platform/descriptors.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import type { DatabaseLocation } from "./engine.ts";
import { DatabaseUnusable } from "./errors.ts";
import { findDamageInWorker } from "./integrity.ts";

/** A start has other work first. */
const FIRST_AFTER_MS = 10_000;
const EVERY_MS = 24 * 60 * 60 * 1_000;
const RETRY_AFTER_MS = 60_000;
/** Starting a Worker without them ends the whole process; its files need some more. */
const DESCRIPTORS_MIN = 8;

export interface PageChecks extends Service {
  /** What readiness says of the data: nothing, unless the last check found damage. */
  look(): { name: string; state: "damaged" }[];
}

export interface PageChecksOptions {
  place: DatabaseLocation;
  clock: Clock;
  log: Log;
}

/** Where no Worker writes a file there is nothing to check. */
export function createPageChecks({ place, clock, log }: PageChecksOptions): PageChecks {
  const over = new AbortController();
  let isDamaged = false;
  let cancel: Cancel = () => {};

  const plan = (delay_ms: number) => {
    if (!over.signal.aborted) cancel = clock.after(delay_ms, () => void check());
  };
  const check = async () => {
    if (place.kind !== "sqlite" || !place.writer) return;
    if (!hasFreeDescriptors(DESCRIPTORS_MIN)) return plan(RETRY_AFTER_MS);
    const started = clock.monotonic();
    try {
      const damage = await findDamageInWorker(place.writer, place.file, over.signal);
      if (damage === undefined) return;
      isDamaged = damage !== null;
      const duration_ms = Math.round(clock.monotonic() - started);
      if (damage === null) log.info("the database's pages are sound", { duration_ms });
      else
        log.error("the database's pages are damaged", {
          duration_ms,
          error: damage,
        });
      plan(EVERY_MS);
    } catch (failure) {
      const error = failure instanceof DatabaseUnusable ? failure.message : failure;
      log.error("the database's pages could not be checked", { error });
      plan(RETRY_AFTER_MS);
    }
  };
  return {
    name: "page checks",
    look: () => (isDamaged ? [{ name: "data", state: "damaged" }] : []),
    start: () => plan(FIRST_AFTER_MS),
    stop() {
      over.abort();
      cancel();
    },
  };
}
