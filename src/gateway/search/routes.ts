// POST /v1/search.
import type { Door, Meter } from "../../http/index.ts";
import type { SearchSettings } from "../../platform/settings/index.ts";
import type { RequestTally } from "../ledger/tally.ts";
import { createSharedService } from "../shared/service.ts";
import { openSearchEngine, type SearchEngineOptions } from "./supply.ts";

export interface SearchOptions extends SearchEngineOptions {
  settings: SearchSettings;
  meter: Meter<RequestTally>;
}

export function openSearch(_door: Door, { settings, ...around }: SearchOptions) {
  return createSharedService({
    name: "search",
    clock: around.clock,
    plan: settings,
    open: (plan) => openSearchEngine(plan, around),
  });
}
