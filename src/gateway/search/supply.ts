// From the settings of search to the engine that answers.
import type { Clock } from "../../platform/clock.ts";
import type { TrustedEgress } from "../../platform/egress/index.ts";
import type { Log } from "../../platform/log.ts";
import type { SearchSettings } from "../../platform/settings/index.ts";
import type { SearchEngine } from "./contract.ts";

export interface SearchEngineOptions {
  egress: TrustedEgress;
  clock: Clock;
  log: Log;
}

/** Nothing is asked before its start; null: search is off. */
export function openSearchEngine(
  _settings: SearchSettings,
  _around: SearchEngineOptions,
): SearchEngine | null {
  return null;
}
