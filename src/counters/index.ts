// Counters that several processes share: in Valkey, and in PostgreSQL while it is away.
import type { LimiterGroup } from "../access/index.ts";
import type { Database } from "../database/index.ts";
import type { SharedCounters, SharedCountersOptions } from "./shared-counters.ts";
import { counterStore } from "./store.ts";

export type { SharedCounters } from "./shared-counters.ts";

type ShareOptions = Omit<SharedCountersOptions, "store" | "database" | "limits"> & {
  database: Database;
  limits: LimiterGroup;
  slots: { share(leader: Pick<SharedCounters, "take" | "release">): void };
  /** Slots of model servers. */
  sharing: { counter: Pick<SharedCounters, "isSure" | "reserve"> | null };
};

/** Shares limits and slots in the Valkey server of `url`; without one the list is empty. */
export async function shareCounters(options: ShareOptions): Promise<readonly SharedCounters[]> {
  if (options.url === "") return [];
  // Loaded only where it is used: most servers run alone.
  const { SharedCounters } = await import("./shared-counters.ts");
  const store = options.database.bind(counterStore);
  const counters = new SharedCounters({ ...options, store });
  options.limits.share((limiter, name, rule) => counters.claim(limiter, name, rule));
  options.slots.share(counters);
  options.sharing.counter = counters;
  return [counters];
}
