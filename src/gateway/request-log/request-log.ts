// The ledger: makes an entry of each request that has ended, and hands it to whoever keeps it.

import type { Bound } from "../../database/index.ts";
import type { MeteredRequest, RecorderFactory } from "../../http/index.ts";
import { type Clock, endsWithin } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import type { LogEntry, MeteredRoute } from "./entry.ts";
import { GatewayRecorder } from "./recorder.ts";
import type { requestLogStore } from "./store.ts";
import { createEntryWriter } from "./writer.ts";

/** The last entries are worth this moment, also to who is in a hurry to stop. */
const LAST_WRITES_MS = 2_000;

export interface RequestLogOptions {
  store: Pick<Bound<typeof requestLogStore>, "add">;
  clock: Clock;
  ids: Ids;
  log: Log;
}

export interface RequestLog {
  service: Service;
  /** Meters the requests of one route. */
  meter(route: MeteredRoute): RecorderFactory<GatewayRecorder>;
  /** Hears each entry as its request ends; it must neither throw nor take long. */
  observe(hear: (entry: LogEntry) => void): void;
  look(): RequestLogStatus;
}

/** How the ledger stands now. */
export interface RequestLogStatus {
  /** Requests that have not ended. */
  under_way: number;
  /** Entries that wait to be written, or are being written. */
  unwritten: number;
  /** Entries that were given up since the start. */
  lost: number;
}

export function createRequestLog({ store, clock, ids, log }: RequestLogOptions): RequestLog {
  const writer = createEntryWriter(store, clock, log);
  const observers: ((entry: LogEntry) => void)[] = [];
  let under_way = 0;
  /** Called when no request is under way any more. */
  let onQuiet: (() => void) | undefined;

  const take = (entry: LogEntry) => {
    writer.add(entry);
    for (const hear of observers) hear(entry);
    under_way -= 1;
    if (under_way === 0) onQuiet?.();
  };
  return {
    meter(route) {
      const options = { route, clock, drawId: ids.uuid, take };
      return {
        open(arrival: MeteredRequest) {
          under_way += 1;
          return new GatewayRecorder(options, arrival);
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
