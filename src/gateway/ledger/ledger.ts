// The ledger: makes an entry of each request that has ended, and hands it to whoever keeps it.
import type { Arrival, Meter } from "../../http/index.ts";
import { type Clock, endsWithin } from "../../platform/clock.ts";
import type { Bound } from "../../platform/database/index.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import type { Entry, Route } from "./entry.ts";
import type { ledgerStore } from "./store.ts";
import { RequestTally } from "./tally.ts";
import { createEntryWriter } from "./writer.ts";

/** The last entries are worth this moment, also to who is in a hurry to stop. */
const LAST_WRITES_MS = 2_000;

export interface LedgerOptions {
  store: Pick<Bound<typeof ledgerStore>, "add">;
  clock: Clock;
  ids: Ids;
  log: Log;
}

export interface Ledger {
  service: Service;
  /** Meters the requests of one route. */
  meter(route: Route): Meter<RequestTally>;
  /** Hears each entry as its request ends; it must neither throw nor take long. */
  observe(hear: (entry: Entry) => void): void;
  look(): LedgerSight;
}

/** How the ledger stands now. */
export interface LedgerSight {
  /** Requests that have not ended. */
  under_way: number;
  /** Entries that wait to be written, or are being written. */
  unwritten: number;
  /** Entries that were given up since the start. */
  lost: number;
}

export function createLedger({ store, clock, ids, log }: LedgerOptions): Ledger {
  const writer = createEntryWriter(store, clock, log);
  const observers: ((entry: Entry) => void)[] = [];
  let under_way = 0;
  /** Called when no request is under way any more. */
  let onQuiet: (() => void) | undefined;

  const take = (entry: Entry) => {
    writer.add(entry);
    for (const hear of observers) hear(entry);
    under_way -= 1;
    if (under_way === 0) onQuiet?.();
  };
  return {
    meter(route) {
      const options = { route, clock, drawId: ids.uuid, take };
      return {
        open(arrival: Arrival) {
          under_way += 1;
          return new RequestTally(options, arrival);
        },
      };
    },
    observe: (hear) => void observers.push(hear),
    look: () => ({ under_way, ...writer.look() }),
    service: {
      name: "ledger",
      start() {},
      async stop(deadline_ms) {
        // The doors are closed; those that were cut off there are just about to say so.
        const quiet = Promise.withResolvers<void>();
        onQuiet = quiet.resolve;
        if (under_way > 0) await endsWithin(clock, deadline_ms, quiet.promise);
        const lost = await writer.finish(Math.max(deadline_ms, LAST_WRITES_MS));
        if (lost > 0) log.error(`entries of the ledger that were never written: ${lost}`);
      },
    },
  };
}
