// Opens the ledger on a database: who writes it, who reads its sums.
import type { Database } from "../../platform/database/index.ts";
import type { Service } from "../../platform/service.ts";
import { createLedger, type Ledger, type LedgerOptions } from "./ledger.ts";
import { ledgerStore, type UsageBy, type UsageSum } from "./store.ts";

export interface OpenLedgerOptions extends Omit<LedgerOptions, "store"> {
  database: Database;
}

export interface OpenLedger extends Pick<Ledger, "meter" | "observe" | "look"> {
  /** In the order of their start: in front of the entrance, so that they stop behind it. */
  services: readonly Service[];
}

export function openLedger({ database, ...around }: OpenLedgerOptions): OpenLedger {
  const store = database.bind(ledgerStore);
  const { service, ...ledger } = createLedger({ ...around, store });
  return { ...ledger, services: [service] };
}

export interface Usage {
  /** The sums of the days from one to another, both included, in the order of their names. */
  sum(by: UsageBy, from: string, to: string): Promise<UsageSum[]>;
}

/** What was used, as `wadi usage` tells it. */
export function readUsage(database: Database): Usage {
  return { sum: database.bind(ledgerStore).sum };
}
