// From the settings of embeddings to what answers them.
import type { Clock } from "../../platform/clock.ts";
import type { TrustedEgress } from "../../platform/egress/index.ts";
import type { Log } from "../../platform/log.ts";
import type { EmbeddingsSettings } from "../../platform/settings/index.ts";
import type { Embedder } from "./contract.ts";
import { createStubEmbedder } from "./stub.ts";
import { createUpstreamEmbedder } from "./upstream/embedder.ts";

export interface EmbedderOptions {
  egress: TrustedEgress;
  clock: Clock;
  log: Log;
}

/** Nothing is asked before its start; null: embeddings are off. */
export function openEmbedder(
  settings: EmbeddingsSettings,
  around: EmbedderOptions,
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
