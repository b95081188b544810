// Opens the ledger on a database: who writes it, who deletes what is old, who reads its sums.
import type { Database } from "../../platform/database/index.ts";
import type { Service } from "../../platform/service.ts";
import { createLedger, type Ledger, type LedgerOptions } from "./ledger.ts";
import { createRetention } from "./retention.ts";
import { ledgerStore, type UsageBy, type UsageSum } from "./store.ts";

export interface OpenLedgerOptions extends Omit<LedgerOptions, "store"> {
  database: Database;
  /** How long rows are kept, as it is wanted now; null: for ever. */
  keepMs(): number | null;
}

export interface OpenLedger extends Pick<Ledger, "meter" | "observe" | "look"> {
  /** In the order of their start: in front of the entrance, so that they stop behind it. */
  services: readonly Service[];
}

export function openLedger({ database, keepMs, ...around }: OpenLedgerOptions): OpenLedger {
  const store = database.bind(ledgerStore);
  const { service, ...ledger } = createLedger({ ...around, store });
  const { clock, log } = around;
  const retention = createRetention({ store, clock, log, keepMs });
  return { ...ledger, services: [service, retention] };
}

export interface Usage {
  /** The sums of the days from one to another, both included, in the order of their names. */
  sum(by: UsageBy, from: string, to: string): Promise<UsageSum[]>;
}

/** What was used, as `wadi usage` tells it. */
export function readUsage(database: Database): Usage {
  return { sum: database.bind(ledgerStore).sum };
}
