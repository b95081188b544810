// Models: from the settings to what can be called, by whom, and what answers.
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/index.ts";
import type { TrustedEgress } from "../platform/egress/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { ModelSettings, Settings, UpstreamSettings } from "../platform/settings/index.ts";
import type { ServedModel } from "./model.ts";
import { createRegistry, type ModelRegistry } from "./registry.ts";
import { modelStore } from "./store.ts";
import { countPromptTokens } from "./tokens.ts";
import { createOpenai } from "./upstream/openai.ts";
import { withoutReasoning } from "./upstream/reasoning.ts";
import { joinReplicas } from "./upstream/replicas.ts";
import { createStub } from "./upstream/stub.ts";
import { createTokenCount } from "./upstream/token-count.ts";

export { countBundled } from "./bundled-tokenizer/count.ts";
export { createGrants, type Grants } from "./grants.ts";
export { capOutput, type ServedModel } from "./model.ts";
export { needsGrant } from "./permission.ts";
export type { Judgement, ModelRegistry, Named } from "./registry.ts";
export { openModelRoutes } from "./routes.ts";
export type { Standing } from "./store.ts";
export { createSwitches, type State, type Switches, stateOf, type Turn } from "./switches.ts";
export { countImages, listTexts } from "./tokens.ts";
export type * from "./upstream/contract.ts";

export interface ModelsOptions {
  settings: Settings;
  database: Database;
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
}

/** Notes which models are new to this installation, and joins each with its upstream. */
export async function buildModels(options: ModelsOptions): Promise<ModelRegistry> {
  const { settings, database, clock } = options;
  const store = database.bind(modelStore);
  const ids = settings.models.map((model) => model.id);
  const seen = new Map((await store.list(null)).map((row) => [row.id, row.first_seen_at]));
  if (ids.some((id) => !seen.has(id))) {
    const now = clock.now();
    await store.see(ids, now);
    for (const id of ids) if (!seen.has(id)) seen.set(id, now);
  }
  const models: ServedModel[] = settings.models.map((model) => ({
    settings: model,
    created: Math.floor(seen.get(model.id)! / 1000),
    upstream_revision: model.self_hosted ? null : fingerprint(model),
    ...connectUpstream(model, options),
  }));
  const { alias, default_model } = settings.service;
  return createRegistry({ alias, default_model, models, store });
}

/** What answers for a model, and what counts for it. */
function connectUpstream(
  { upstream, capabilities }: ModelSettings,
  { clock, ids, egress }: ModelsOptions,
): Pick<ServedModel, "answer" | "count"> {
  if (upstream.kind === "stub") {
    const stub = createStub({ ...upstream, clock, ids });
    return {
      // What it is told to say is never a thought.
      answer: withoutReasoning(stub, { reasons: false, thought_opens: "reply" }),
      count: async (ask) => countPromptTokens(ask),
    };
  }
  const reasons = capabilities.includes("reasoning");
  const thinking = { reasons, thought_opens: upstream.thought_opens };
  const options = { ...upstream, egress, clock, ids };
  const connect = (url: string) => withoutReasoning(createOpenai({ ...options, url }), thinking);
  return { answer: joinReplicas(upstream.urls.map(connect)), count: createTokenCount(options) };
}

/** gateway.resources.model.upstream_revision: it changes when the model is routed elsewhere. */
function fingerprint(model: ModelSettings): string {
  const { upstream }: { upstream: UpstreamSettings } = model;
  const party =
    upstream.kind === "openai"
      ? [upstream.kind, [...upstream.urls].sort(), upstream.model]
      : [upstream.kind];
  return Bun.SHA256.hash(JSON.stringify(party), "hex") as string;
}
