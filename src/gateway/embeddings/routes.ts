// POST /v1/embeddings.
import { accountOf } from "../../access/index.ts";
import type { RecorderFactory, Router } from "../../http/index.ts";
import { costOf, sumTokens } from "../../models/index.ts";
import type { EmbeddingsSettings } from "../../settings/index.ts";
import type { CallerBudgets } from "../budgets/caller-budgets.ts";
import { LIMIT_ERROR_HEADERS, LIMIT_HEADERS } from "../budgets/headers.ts";
import type { InFlight } from "../in-flight.ts";
import {
  errorSentences,
  MeteredExecution,
  NO_RETRY,
  type WriteHeaders,
} from "../metered/execution.ts";
import { type MeteredBackendOptions, MeteredService } from "../metered/service.ts";
import type { GatewayRecorder, PricedModel } from "../request-log/recorder.ts";
import { openEmbedder } from "./backend.ts";
import { type Embedder, type EmbedRequest, MODEL } from "./contract.ts";
import {
  EmbeddingList,
  EmbeddingsRequest,
  listInputs,
  STATUS,
  writeEmbeddingList,
} from "./schema.ts";

const PATH = "/v1/embeddings";
const BACKEND_NAME = "embedding server";
/** gateway.limits.body_size */
const BODY_BYTES_MAX = 256 * 1024;

export interface EmbeddingsOptions extends MeteredBackendOptions {
  settings: EmbeddingsSettings;
  meter: RecorderFactory<GatewayRecorder>;
  budgets: Pick<CallerBudgets, "check" | "reserve" | "writeHeaders">;
  running: InFlight;
  /** Opens the embedder of the settings; tests pass another. */
  open?: typeof openEmbedder;
}

/** gateway.does.3: embedding vectors for keys with the scope. */
export function openEmbeddings(router: Router, options: EmbeddingsOptions) {
  const { settings, meter, budgets, running, open = openEmbedder, ...backendOptions } = options;
  const { clock, log } = backendOptions;
  // gateway.limits.embeddings_quota, gateway.limits.shared_capacity
  const service = new MeteredService({
    name: "embeddings",
    clock,
    plan: settings,
    open: (plan) => open(plan, backendOptions),
  });
  const route = `POST ${PATH}`;
  const shared = { budgets, running, clock, log, route, backendName: BACKEND_NAME, writeHeaders };
  const execution = new MeteredExecution({ ...shared, service });
  // gateway.endpoints.post_embeddings
  router.post(
    PATH,
    {
      summary: "Embed texts",
      description:
        "One vector of 1024 dimensions and unit length for each input. 20 requests a minute per " +
        "account, if the operator says nothing else, beside the limit of every route. Capacity " +
        "is shared: `capacity_exceeded` is not the caller's own limit.",
      scope: "embeddings",
      body: EmbeddingsRequest,
      bodyBytesMax: BODY_BYTES_MAX,
      isSlow: true,
      meter,
      replies: {
        [STATUS]: {
          description: "The vectors.",
          schema: EmbeddingList,
          headers: ["server-timing", ...LIMIT_HEADERS],
        },
      },
      refusals: ["capacity_exceeded", "upstream_error", "service_unavailable", "upstream_timeout"],
      refusal_sentences: errorSentences(BACKEND_NAME),
      refusal_headers: {
        403: LIMIT_ERROR_HEADERS,
        429: LIMIT_ERROR_HEADERS,
        502: ["x-should-retry"],
        503: ["retry-after"],
        504: ["x-should-retry"],
      },
    },
    async ({ body, caller, requestId: request_id, trace, recorder, request: { signal } }) => {
      const price = readPrice(service.plan);
      recorder.asked_model = body.model ?? null;
      recorder.setModel({ id: MODEL, price });
      const account = accountOf(caller);
      // A server may refuse half a surrogate pair, and all other inputs with it.
      const inputs = listInputs(body.input).map((text) => text.toWellFormed());
      const embedRequest: EmbedRequest = { request_id, trace, account, inputs };
      const charge = {
        countTokens: (embedder: Embedder) => embedder.countTokens(inputs),
        costOf: (tokens: number) => costOf(sumTokens(tokens, 0), price),
      };
      const context = { caller, request_id, trace, recorder, signal, charge };
      const { result, headers } = await execution.answer(context, async (embedder) => {
        const embedded = await embedder.embed(embedRequest, signal);
        if (!embedded.ok) return embedded;
        return { ...embedded, usage: sumTokens(embedded.prompt_tokens, 0) };
      });
      return [STATUS, writeEmbeddingList(result, body.encoding_format ?? "float"), headers];
    },
  );
  return service;
}

/** Embeddings have no completion. */
function readPrice({ price }: EmbeddingsSettings): PricedModel["price"] {
  return price === null ? null : { prompt: price, completion: 0 };
}

/** gateway.endpoints.embeddings.p4, gateway.errors.headers.x_should_retry: the work was spent. */
const writeHeaders: WriteHeaders = (code) => {
  const isSpent = code === "upstream_error" || code === "upstream_timeout";
  return isSpent ? NO_RETRY : {};
};
