// POST /v1/embeddings.
import { accountOf } from "../../access/index.ts";
import type { RecorderFactory, Router } from "../../http/index.ts";
import type { EmbeddingsSettings } from "../../settings/index.ts";
import type { InFlight } from "../in-flight.ts";
import { NO_RETRY, nameSentences, type WriteHeaders } from "../metered/failure.ts";
import {
  createMeteredHandler,
  type MeteredContext,
  type MeteredHandler,
} from "../metered/handler.ts";
import { createMeteredService, type MeteredBackendOptions } from "../metered/service.ts";
import type { GatewayRecorder, PricedModel } from "../request-log/recorder.ts";
import { openEmbedder } from "./backend.ts";
import { type Embedder, type EmbedRequest, MODEL } from "./contract.ts";
import { EmbeddingList, STATUS, writeEmbeddingList } from "./reply.ts";
import { EmbeddingsRequest, listInputs } from "./request.ts";

const PATH = "/v1/embeddings";
const WHO = "embedding server";
/** gateway.limits.body_size */
const BODY_BYTES_MAX = 256 * 1024;

export interface EmbeddingsOptions extends MeteredBackendOptions {
  settings: EmbeddingsSettings;
  meter: RecorderFactory<GatewayRecorder>;
  running: InFlight;
  /** What stands behind the route; left out: what the settings say. */
  open?: typeof openEmbedder;
}

/** gateway.does.3: embedding vectors for keys with the scope. */
export function openEmbeddings(door: Router, options: EmbeddingsOptions) {
  const { settings, meter, running, open = openEmbedder, ...around } = options;
  const { clock, log } = around;
  // gateway.limits.embeddings_quota, gateway.limits.shared_capacity
  const service = createMeteredService({
    name: "embeddings",
    clock,
    plan: settings,
    open: (plan) => open(plan, around),
  });
  const route = `POST ${PATH}`;
  const own = { service, running, clock, log, route, who: WHO, writeHeaders };
  const answer = createMeteredHandler(own);
  // gateway.endpoints.post_embeddings
  door.post(
    PATH,
    {
      summary: "Embed texts",
      description:
        "One vector of 1024 dimensions and unit length for each input. 20 requests a minute per " +
        "account, if the operator says nothing else, beside the limit of every route. Capacity " +
        "is shared: `capacity_exceeded` is not the caller's own limit.",
      scope: "embeddings",
      body: EmbeddingsRequest,
      body_bytes_max: BODY_BYTES_MAX,
      is_slow: true,
      meter,
      replies: {
        [STATUS]: {
          description: "The vectors.",
          schema: EmbeddingList,
          headers: ["server-timing"],
        },
      },
      refusals: ["capacity_exceeded", "upstream_error", "service_unavailable", "upstream_timeout"],
      refusal_sentences: nameSentences(WHO),
      refusal_headers: { 502: ["x-should-retry"], 503: ["retry-after"], 504: ["x-should-retry"] },
    },
    async ({ body, ...visit }) => {
      visit.recorder.setModel({ id: MODEL, price: readPrice(service.plan()) });
      const embedded = await embed(answer, visit, listInputs(body.input));
      const list = writeEmbeddingList(embedded.answer, body.encoding_format ?? "float");
      return [STATUS, list, embedded.headers];
    },
  );
  return service;
}

/** There is nothing but a prompt. */
function readPrice({ price }: EmbeddingsSettings): PricedModel["price"] {
  return price === null ? null : { prompt: price, completion: 0 };
}

function embed(answer: MeteredHandler<Embedder>, visit: MeteredContext, inputs: readonly string[]) {
  const { caller, request_id, trace } = visit;
  const ask: EmbedRequest = {
    request_id,
    trace,
    account: accountOf(caller),
    // Half a surrogate pair is no text: a server may refuse it, and all the others with it.
    inputs: inputs.map((text) => text.toWellFormed()),
  };
  return answer(visit, async ({ embed }, signal) => {
    const ending = await embed(ask, signal);
    if (!ending.ok) return ending;
    const { prompt_tokens } = ending;
    const usage = { prompt_tokens, completion_tokens: 0, total_tokens: prompt_tokens };
    return { ...ending, usage };
  });
}

/** gateway.endpoints.embeddings.p4, gateway.errors.headers.x_should_retry: the work was spent. */
const writeHeaders: WriteHeaders = (told) => {
  const isSpent = told === "upstream_error" || told === "upstream_timeout";
  return isSpent ? NO_RETRY : {};
};
