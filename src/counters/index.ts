// Counters that several processes share: in Valkey, and in PostgreSQL while it is away.
import type { LimiterGroup } from "../access/index.ts";
import type { Database } from "../database/index.ts";
import type { SharedCounters, SharedCountersOptions } from "./shared-counters.ts";
import { counterStore } from "./store.ts";

export type { SharedCounters } from "./shared-counters.ts";

type ShareOptions = Omit<SharedCountersOptions, "store" | "database" | "limits"> & {
  database: Database;
  limits: LimiterGroup;
  capacities: { share(leader: Pick<SharedCounters, "take" | "release">): void };
  modelSlots: { share(counter: Pick<SharedCounters, "isSure" | "reserve">): void };
};

/**
 * Shares limits, capacities and slots of model servers in the Valkey server of `url`; without one
 * the list is empty.
 */
export async function shareCounters(options: ShareOptions): Promise<readonly SharedCounters[]> {
  if (options.url === "") return [];
  // Loaded only where it is used: most servers run alone.
  const { SharedCounters } = await import("./shared-counters.ts");
  const store = options.database.bind(counterStore);
  const counters = new SharedCounters({ ...options, store });
  options.limits.share((limiter, name, rule) => counters.claim(limiter, name, rule));
  options.capacities.share(counters);
  options.modelSlots.share(counters);
  return [counters];
}
