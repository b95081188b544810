// Embeddings by servers: each is a replica that truncates, batches and joins the inputs.
import { openReplicaCheck, Replicas, type UpstreamError } from "../../../models/index.ts";
import type { EmbeddingsSettings } from "../../../settings/index.ts";
import type { MeteredBackendOptions } from "../../metered/service.ts";
import { type Embedded, type Embedder, type EmbedRequest, MODEL, TOKENS_MAX } from "../contract.ts";
import { BatchConverter, type BatchItem, divide, estimateBatchItem } from "./batch.ts";
import { ServerDetection } from "./detection.ts";
import { createReplicaClients } from "./replica-client.ts";
import type { ParsedEmbeddings } from "./reply.ts";
import { Tokenizer, truncateInputs } from "./tokenizer.ts";

/** gateway.endpoints.embeddings.input: maximum texts of a request. */
const BATCH_MAX = 64;
const UNEXPECTED: readonly UpstreamError["code"][] = ["upstream_error", "model_unavailable"];

type ReplicaEmbed = (
  request: EmbedRequest,
  signal: AbortSignal,
  leftMs: number,
) => Promise<Embedded | UpstreamError>;

export function createUpstreamEmbedder(
  settings: EmbeddingsSettings,
  options: MeteredBackendOptions,
): Embedder {
  const { urls, health_every_ms, timeout_ms } = settings;
  const servers = urls.map((url) => ({
    name: new URL(url).host,
    server: createReplicaEmbed(url, settings, options),
    check: health_every_ms === 0 ? null : openReplicaCheck(url, settings, options.egress),
  }));
  const replicas = new Replicas<ReplicaEmbed>(servers, {
    model: MODEL,
    // The capacity that all accounts share is the limit.
    max_in_flight: 0,
    health_every_ms,
    // gateway.errors.upstream_timeout: all replicas that are asked share the time.
    first_token_timeout_ms: timeout_ms,
    ...options,
  });
  return {
    embed: (request, signal) =>
      replicas.call<Embedded>({ account: request.account, signal }, (embed, _, leftMs) =>
        embed(request, signal, leftMs),
      ),
    countTokens: (inputs) => inputs.reduce((sum, text) => sum + estimateBatchItem(text), 0),
    isDown: () => replicas.isDown(),
    status: () => replicas.status(),
    start: () => replicas.start(),
    stop: () => replicas.stop(),
  };
}

function createReplicaEmbed(
  url: string,
  settings: EmbeddingsSettings,
  options: MeteredBackendOptions,
): ReplicaEmbed {
  const { model, max_batch } = settings;
  const openClient = createReplicaClients(url, settings, options);
  const detection = new ServerDetection(settings, options.clock);
  const tokenizer = new Tokenizer(detection.usual.tokenRoutes, model, options.clock);
  const converter = new BatchConverter(model);
  return async (request, signal, leftMs) => {
    const client = openClient(request, signal, leftMs);
    const protocol = await detection.find(client);
    if ("ok" in protocol) return protocol;
    const hasTokenizer = protocol.tokenRoutes.length > 0;
    const { inputs } = request;
    const items = await truncateInputs(client, hasTokenizer ? tokenizer : undefined, inputs);
    if ("ok" in items) return items;
    const joined: Embedded = { ok: true, vectors: new Array(inputs.length), prompt_tokens: 0 };
    for (const batch of divide(items, max_batch || protocol.batchMax || BATCH_MAX)) {
      const parsed = await converter.convert(client, protocol, batch);
      if ("ok" in parsed) {
        if (UNEXPECTED.includes(parsed.code)) detection.forget();
        return parsed;
      }
      join(joined, batch, parsed, inputs);
    }
    return joined;
  };
}

function join(
  joined: Embedded,
  batch: readonly BatchItem[],
  { vectors, prompt_tokens }: ParsedEmbeddings,
  inputs: readonly string[],
): void {
  for (const [at, { index }] of batch.entries()) joined.vectors[index] = vectors[at]!;
  // gateway.endpoints.embeddings.p2: a usage above the maximum of the inputs is wrong.
  if (prompt_tokens !== null && prompt_tokens <= TOKENS_MAX * batch.length) {
    joined.prompt_tokens += prompt_tokens;
    return;
  }
  for (const { index, tokens } of batch) {
    joined.prompt_tokens += tokens ?? estimateBatchItem(inputs[index]!);
    if (tokens === null) joined.usageEstimated = true;
  }
}
