// From the settings of embeddings to what answers them.
import type { EmbeddingsSettings } from "../../platform/settings/index.ts";
import type { SharedSupplyOptions } from "../shared/service.ts";
import type { Embedder } from "./contract.ts";
import { createStubEmbedder } from "./stub.ts";
import { createUpstreamEmbedder } from "./upstream/embedder.ts";

/** Nothing is asked before its start; null: embeddings are off. */
export function openEmbedder(
  settings: EmbeddingsSettings,
  around: SharedSupplyOptions,
): Embedder | null {
  switch (settings.kind) {
    case "openai":
    case "tei":
      return createUpstreamEmbedder(settings, around);
    case "stub":
      return createStubEmbedder();
    case "off":
      return null;
  }
}
