// From the settings of search to the engine that answers.
import type { SearchSettings } from "../../settings/index.ts";
import type { MeteredBackendOptions } from "../metered/service.ts";
import { createBrave } from "./brave.ts";
import type { SearchEngine } from "./contract.ts";
import { openEngine } from "./engine.ts";
import { createSearxng } from "./searxng.ts";
import { createStubSearch } from "./stub/stub.ts";

/** Nothing is asked before its start; null: search is off. */
export function openSearchEngine(
  settings: SearchSettings,
  around: MeteredBackendOptions,
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
