// POST /v1/embeddings.
import type { Door, Meter } from "../../http/index.ts";
import type { EmbeddingsSettings } from "../../platform/settings/index.ts";
import type { RequestTally } from "../ledger/tally.ts";
import { createSharedService } from "../shared/service.ts";
import { type EmbedderOptions, openEmbedder } from "./supply.ts";

export interface EmbeddingsOptions extends EmbedderOptions {
  settings: EmbeddingsSettings;
  meter: Meter<RequestTally>;
}

export function openEmbeddings(_door: Door, { settings, ...around }: EmbeddingsOptions) {
  return createSharedService({
    name: "embeddings",
    clock: around.clock,
    plan: settings,
    open: (plan) => openEmbedder(plan, around),
  });
}
