// Opens the ledger on a database: who writes it, who reads its sums.
import type { Database } from "../../database/index.ts";
import type { Service } from "../../platform/service.ts";
import { createRequestLog, type RequestLog, type RequestLogOptions } from "./request-log.ts";
import { type GatewayUsage, requestLogStore, type UsageGrouping } from "./store.ts";

export interface RequestLogModuleOptions extends Omit<RequestLogOptions, "store"> {
  database: Database;
}

export interface RequestLogModule extends Pick<RequestLog, "meter" | "observe" | "look"> {
  /** In the order of their start: in front of the entrance, so that they stop behind it. */
  services: readonly Service[];
}

export function openRequestLog({ database, ...around }: RequestLogModuleOptions): RequestLogModule {
  const store = database.bind(requestLogStore);
  const { service, ...ledger } = createRequestLog({ ...around, store });
  return { ...ledger, services: [service] };
}

export interface UsageReader {
  /** The sums of the days from one to another, both included, in the order of their names. */
  sum(by: UsageGrouping, from: string, to: string): Promise<GatewayUsage[]>;
}

/** What was used, as `wadi usage` tells it. */
export function createUsageReader(database: Database): UsageReader {
  return { sum: database.bind(requestLogStore).sum };
}
