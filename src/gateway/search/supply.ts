// From the settings of search to the engine that answers.
import type { SearchSettings } from "../../platform/settings/index.ts";
import type { SharedSupplyOptions } from "../shared/service.ts";
import { createBrave } from "./brave.ts";
import type { SearchEngine } from "./contract.ts";
import { openEngine } from "./engine.ts";
import { createSearxng } from "./searxng.ts";
import { createStubSearch } from "./stub/stub.ts";

/** Nothing is asked before its start; null: search is off. */
export function openSearchEngine(
  settings: SearchSettings,
  around: SharedSupplyOptions,
): SearchEngine | null {
  switch (settings.kind) {
    case "searxng":
      return openEngine(createSearxng(settings), settings, around);
    case "brave":
      return openEngine(createBrave(settings), settings, around);
    case "stub":
      return createStubSearch({ ...around, ...settings });
    case "off":
      return null;
  }
}
