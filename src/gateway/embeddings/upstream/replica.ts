// One server's answer to one request: what is too long is cut, all of it asked for and joined.
import type { Failure } from "../../../models/index.ts";
import type { EmbeddingsSettings } from "../../../platform/settings/index.ts";
import { type EmbedAsk, type Embedded, TOKENS_MAX } from "../contract.ts";
import { createAcquaintance } from "./acquaintance.ts";
import { createConvert, divide } from "./batch.ts";
import { cutInputs } from "./cutting.ts";
import { estimatePart, type Part } from "./part.ts";
import type { Reading } from "./reply.ts";
import { createTalks, type TalkOptions } from "./talk.ts";
import { createTokenizer } from "./tokenizer.ts";

/** No request has more texts: gateway.endpoints.embeddings.input. */
const BATCH_MAX = 64;

/** So another server answers, or breaks off, that has taken the place of the one that we knew. */
const MAY_HAVE_CHANGED: readonly Failure["code"][] = ["upstream_error", "model_unavailable"];

/** Asks within `left_ms`, or until the signal aborts. */
export type ReplicaEmbed = (
  ask: EmbedAsk,
  signal: AbortSignal,
  left_ms: number,
) => Promise<Embedded | Failure>;

export function createReplicaEmbed(
  url: string,
  settings: EmbeddingsSettings,
  around: TalkOptions,
): ReplicaEmbed {
  const { model, max_batch } = settings;
  const openTalk = createTalks(url, settings, around);
  const acquaintance = createAcquaintance(settings, around.clock);
  const tokenizer = createTokenizer(acquaintance.usual.token_routes, model, around.clock);
  const convert = createConvert(model);
  return async (ask, signal, left_ms) => {
    const talk = openTalk(ask, signal, left_ms);
    const manner = await acquaintance.meet(talk);
    if ("ok" in manner) return manner;
    const counts = manner.token_routes.length > 0;
    const parts = await cutInputs(talk, counts ? tokenizer : null, ask.inputs);
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
  const count = ({ index, tokens }: Part) => {
    if (tokens === null) isEstimated = true;
    return tokens ?? estimatePart(inputs[index]!);
  };
  return {
    take(batch: readonly Part[], reading: Reading) {
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
      return isEstimated ? { ...embedded, usage_estimated: true } : embedded;
    },
  };
}
