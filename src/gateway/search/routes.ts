// POST /v1/search.
import { accountOf } from "../../access/index.ts";
import type { RecorderFactory, Router } from "../../http/index.ts";
import type { SearchSettings } from "../../settings/index.ts";
import type { InFlight } from "../in-flight.ts";
import { NO_RETRY, nameSentences, type WriteHeaders } from "../metered/failure.ts";
import { createMeteredHandler } from "../metered/handler.ts";
import { createMeteredService, type MeteredBackendOptions } from "../metered/service.ts";
import type { GatewayRecorder } from "../request-log/recorder.ts";
import { openSearchEngine } from "./backend.ts";
import type { EngineQuery } from "./contract.ts";
import { chooseResults } from "./hits.ts";
import { createInternalSearchClient } from "./internal-client.ts";
import { SearchReply, STATUS, writeSearchReply } from "./reply.ts";
import { readWish, SearchRequest } from "./request.ts";
import { LONG_WAIT_MS } from "./wait.ts";

const PATH = "/v1/search";
const WHO = "search engine";

export interface SearchOptions extends MeteredBackendOptions {
  settings: SearchSettings;
  meter: RecorderFactory<GatewayRecorder>;
  running: InFlight;
}

/** gateway.does.3: web search, for keys with its scope. */
export function openSearch(door: Router, { settings, meter, running, ...around }: SearchOptions) {
  const { clock, log } = around;
  // gateway.limits.search_quota, gateway.limits.shared_capacity
  const service = createMeteredService({
    name: "search",
    clock,
    plan: settings,
    open: (plan) => openSearchEngine(plan, around),
  });
  const own = { service, running, clock, log, writeHeaders, route: `POST ${PATH}`, who: WHO };
  const answer = createMeteredHandler(own);
  // gateway.endpoints.post_search; gateway.limits.body_size: the door's own 100 KB.
  door.post(
    PATH,
    {
      summary: "Search the web",
      description:
        "10 requests a minute per account, if the operator says nothing else, beside the limit " +
        "of every route. Capacity is shared: `capacity_exceeded` is not the caller's own limit.",
      // gateway.authentication.4, gateway.errors.scope_required
      scope: "search",
      body: SearchRequest,
      is_slow: true,
      meter,
      replies: {
        [STATUS]: {
          description: "What was found.",
          schema: SearchReply,
          headers: ["server-timing"],
        },
      },
      refusals: ["capacity_exceeded", "upstream_error", "service_unavailable", "upstream_timeout"],
      refusal_sentences: nameSentences(WHO),
      refusal_headers: { 503: ["retry-after", "x-should-retry"] },
    },
    async ({ body, ...visit }) => {
      const { caller, request_id, trace } = visit;
      const account = accountOf(caller);
      // Half a surrogate pair is no text: neither an engine nor a strict caller takes it.
      const query = body.query.toWellFormed();
      const ask: EngineQuery = { request_id, trace, account, ...readWish({ ...body, query }) };
      const found = await answer(visit, (engine, signal) => engine.search(ask, signal));
      const results = chooseResults(found.answer.hits, ask.max_results);
      return [STATUS, writeSearchReply(ask.query, results), found.headers];
    },
  );
  return { ...service, inside: createInternalSearchClient({ ...own, meter }) };
}

/** gateway.errors.headers.x_should_retry: unlike those of embeddings, 502 and 504 carry none. */
const writeHeaders: WriteHeaders = (told, retry_after_ms = 0) => {
  const isLong = told === "service_unavailable" && retry_after_ms > LONG_WAIT_MS;
  return isLong ? NO_RETRY : {};
};
