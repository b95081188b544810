// POST /v1/search.
import { accountOf } from "../../access/index.ts";
import type { RecorderFactory, Router } from "../../http/index.ts";
import type { SearchSettings } from "../../settings/index.ts";
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
import type { GatewayRecorder } from "../request-log/recorder.ts";
import { openSearchEngine } from "./backend.ts";
import type { EngineQuery } from "./contract.ts";
import { LONG_PAUSE_MS } from "./engine.ts";
import { createInternalSearchClient, NO_CHARGE } from "./internal-client.ts";
import { chooseResults } from "./results.ts";
import { readSearchInput, SearchReply, SearchRequest, STATUS, writeSearchReply } from "./schema.ts";

const PATH = "/v1/search";
const BACKEND_NAME = "search engine";

export interface SearchOptions extends MeteredBackendOptions {
  settings: SearchSettings;
  meter: RecorderFactory<GatewayRecorder>;
  budgets: Pick<CallerBudgets, "check" | "reserve" | "writeHeaders">;
  running: InFlight;
}

/** gateway.does.3: web search, for keys with its scope. */
export function openSearch(router: Router, options: SearchOptions) {
  const { settings, meter, budgets, running, ...backendOptions } = options;
  const { clock, log } = backendOptions;
  // gateway.limits.search_quota, gateway.limits.shared_capacity
  const service = new MeteredService({
    name: "search",
    clock,
    plan: settings,
    open: (plan) => openSearchEngine(plan, backendOptions),
  });
  const route = `POST ${PATH}`;
  const shared = { budgets, running, clock, log, route, backendName: BACKEND_NAME, writeHeaders };
  const execution = new MeteredExecution({ ...shared, service });
  // gateway.endpoints.post_search; gateway.limits.body_size: the router's own 100 KB.
  router.post(
    PATH,
    {
      summary: "Search the web",
      description:
        "10 requests a minute per account, if the operator says nothing else, beside the limit " +
        "of every route. Capacity is shared: `capacity_exceeded` is not the caller's own limit.",
      // gateway.authentication.4, gateway.errors.scope_required
      scope: "search",
      body: SearchRequest,
      isSlow: true,
      meter,
      replies: {
        [STATUS]: {
          description: "What was found.",
          schema: SearchReply,
          headers: ["server-timing", ...LIMIT_HEADERS],
        },
      },
      refusals: ["capacity_exceeded", "upstream_error", "service_unavailable", "upstream_timeout"],
      refusal_sentences: errorSentences(BACKEND_NAME),
      refusal_headers: {
        403: LIMIT_ERROR_HEADERS,
        429: LIMIT_ERROR_HEADERS,
        503: ["retry-after", "x-should-retry"],
      },
    },
    async ({ body, caller, requestId: request_id, trace, recorder, request: { signal } }) => {
      const account = accountOf(caller);
      // Engines and strict callers refuse half a surrogate pair.
      const query = body.query.toWellFormed();
      const input = readSearchInput({ ...body, query });
      const engineQuery: EngineQuery = { request_id, trace, account, ...input };
      const context = { caller, request_id, trace, recorder, signal, charge: NO_CHARGE };
      const { result, headers } = await execution.answer(context, (engine) =>
        engine.search(engineQuery, signal),
      );
      const results = chooseResults(result.hits, input.max_results);
      return [STATUS, writeSearchReply(query, results), headers];
    },
  );
  return { service, internal: createInternalSearchClient({ execution, meter, clock, log }) };
}

/** gateway.errors.headers.x_should_retry: unlike those of embeddings, 502 and 504 carry none. */
const writeHeaders: WriteHeaders = (code, retryAfterMs = 0) => {
  const isLong = code === "service_unavailable" && retryAfterMs > LONG_PAUSE_MS;
  return isLong ? NO_RETRY : {};
};
