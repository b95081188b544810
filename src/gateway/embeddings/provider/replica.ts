// One server's answer to one request: what is too long is cut, all of it asked for and joined.
import type { UpstreamError } from "../../../models/index.ts";
import type { EmbeddingsSettings } from "../../../settings/index.ts";
import { type Embedded, type EmbedRequest, TOKENS_MAX } from "../contract.ts";
import { createConvert, divide } from "./batch.ts";
import { type BatchItem, estimateBatchItem } from "./batch-item.ts";
import { createServerDetection } from "./detection.ts";
import { createReplicaClients, type ReplicaClientOptions } from "./replica-client.ts";
import type { ParsedEmbeddings } from "./reply.ts";
import { createTokenizer } from "./tokenizer.ts";
import { truncateInputs } from "./truncation.ts";

/** No request has more texts: gateway.endpoints.embeddings.input. */
const BATCH_MAX = 64;

/** So another server answers, or breaks off, that has taken the place of the one that we knew. */
const MAY_HAVE_CHANGED: readonly UpstreamError["code"][] = ["upstream_error", "model_unavailable"];

/** Asks within `left_ms`, or until the signal aborts. */
export type ReplicaEmbed = (
  ask: EmbedRequest,
  signal: AbortSignal,
  left_ms: number,
) => Promise<Embedded | UpstreamError>;

export function createReplicaEmbed(
  url: string,
  settings: EmbeddingsSettings,
  around: ReplicaClientOptions,
): ReplicaEmbed {
  const { model, max_batch } = settings;
  const openTalk = createReplicaClients(url, settings, around);
  const acquaintance = createServerDetection(settings, around.clock);
  const tokenizer = createTokenizer(acquaintance.usual.token_routes, model, around.clock);
  const convert = createConvert(model);
  return async (ask, signal, left_ms) => {
    const talk = openTalk(ask, signal, left_ms);
    const manner = await acquaintance.meet(talk);
    if ("ok" in manner) return manner;
    const counts = manner.token_routes.length > 0;
    const parts = await truncateInputs(talk, counts ? tokenizer : null, ask.inputs);
    if ("ok" in parts) return parts;
    const joined = createJoining(ask.inputs);
    for (const batch of divide(parts, max_batch || manner.batch_max || BATCH_MAX)) {
      const reading = await convert(talk, manner, batch);
      if ("ok" in reading) {
        if (MAY_HAVE_CHANGED.includes(reading.code)) acquaintance.forget();
        return reading;
      }
      joined.take(batch, reading);
    }
    return joined.end();
  };
}

/** Puts the vectors of all batches back into the order of the inputs, and sums what they cost. */
function createJoining(inputs: readonly string[]) {
  const vectors = new Array<Float32Array>(inputs.length);
  let prompt_tokens = 0;
  let isEstimated = false;
  const count = ({ index, tokens }: BatchItem) => {
    if (tokens === null) isEstimated = true;
    return tokens ?? estimateBatchItem(inputs[index]!);
  };
  return {
    take(batch: readonly BatchItem[], reading: ParsedEmbeddings) {
      for (const [at, { index }] of batch.entries()) vectors[index] = reading.vectors[at]!;
      // gateway.endpoints.embeddings.p2: who tells more than is converted of any is not believed.
      const told = reading.prompt_tokens ?? Number.POSITIVE_INFINITY;
      prompt_tokens +=
        told <= TOKENS_MAX * batch.length
          ? told
          : batch.reduce((sum, part) => sum + count(part), 0);
    },
    end(): Embedded {
      const embedded: Embedded = { ok: true, vectors, prompt_tokens };
      return isEstimated ? { ...embedded, usageEstimated: true } : embedded;
    },
  };
}
