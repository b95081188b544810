// From the settings of embeddings to what answers them.
import type { EmbeddingsSettings } from "../../settings/index.ts";
import type { MeteredBackendOptions } from "../metered/service.ts";
import type { Embedder } from "./contract.ts";
import { createUpstreamEmbedder } from "./provider/embedder.ts";
import { createStubEmbedder } from "./stub.ts";

/** Nothing is asked before its start; null: embeddings are off. */
export function openEmbedder(
  settings: EmbeddingsSettings,
  around: MeteredBackendOptions,
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
