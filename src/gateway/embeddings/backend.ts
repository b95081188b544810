// Opens the embedder of the settings.
import type { EmbeddingsSettings } from "../../settings/index.ts";
import type { MeteredBackendOptions } from "../metered/service.ts";
import type { Embedder } from "./contract.ts";
import { createUpstreamEmbedder } from "./provider/embedder.ts";
import { createStubEmbedder } from "./stub.ts";

export function openEmbedder(
  settings: EmbeddingsSettings,
  options: MeteredBackendOptions,
): Embedder | null {
  switch (settings.kind) {
    case "openai":
    case "tei":
      return createUpstreamEmbedder(settings, options);
    case "stub":
      return createStubEmbedder();
    case "off":
      return null;
  }
}
