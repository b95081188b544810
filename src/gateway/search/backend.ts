// Opens the search engine of the settings.
import type { SearchSettings } from "../../settings/index.ts";
import type { MeteredBackendOptions } from "../metered/service.ts";
import { createBrave } from "./brave.ts";
import type { SearchEngine } from "./contract.ts";
import { openEngine } from "./engine.ts";
import { createSearxng } from "./searxng.ts";
import { createStubSearch } from "./stub/stub.ts";

export function openSearchEngine(
  settings: SearchSettings,
  options: MeteredBackendOptions,
): SearchEngine | null {
  switch (settings.kind) {
    case "searxng":
      return openEngine(createSearxng(settings), settings, options);
    case "brave":
      return openEngine(createBrave(settings), settings, options);
    case "stub":
      return createStubSearch({ ...options, ...settings });
    case "off":
      return null;
  }
}
