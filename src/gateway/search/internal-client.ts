// Unlike POST /v1/search, internal searches wait instead of refusing.
import { accountOf } from "../../access/index.ts";
import type { RecorderFactory } from "../../http/index.ts";
import type { CompletionStats, UpstreamError } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { SearchSettings } from "../../settings/index.ts";
import { type InternalFailure, recordInternal, toInternalFailure } from "../internal-request.ts";
import { type MeteredExecution, publicErrorCode } from "../metered/execution.ts";
import type { GatewayRecorder, InternalCaller } from "../request-log/recorder.ts";
import type { EngineQuery, SearchEngine, SearchOutcome } from "./contract.ts";
import { chooseResults } from "./results.ts";
import { type SearchResult, STATUS } from "./schema.ts";

/** A search is a request without tokens, and its price is unknown. */
export const NO_CHARGE = { countTokens: () => 0, costOf: () => 0 };

/** Maximum total wait for an engine that asks for a pause. */
const ENGINE_WAIT_MAX_MS = 600_000;

export interface InternalSearchClient {
  ask(
    who: InternalCaller,
    query: Pick<EngineQuery, "query" | "max_results" | "language">,
    signal: AbortSignal,
  ): Promise<{ ok: true; results: SearchResult[] } | InternalFailure>;
}

export interface InternalSearchOptions {
  execution: MeteredExecution<SearchSettings, SearchEngine>;
  meter: RecorderFactory<GatewayRecorder>;
  clock: Clock;
  log: Log;
}

export function createInternalSearchClient(options: InternalSearchOptions): InternalSearchClient {
  const { execution, meter, clock, log } = options;
  return {
    async ask(who, { query, max_results, language }, signal) {
      const { caller, request_id, trace } = who;
      const account = accountOf(caller);
      const engineQuery = { request_id, trace, account, query, max_results, language };
      const recorder = meter.open({ ...who, started_at: clock.monotonic() });
      const search = async () => {
        const found = await execution.run(
          { ...who, recorder, signal, charge: NO_CHARGE },
          (engine) => engine.search(engineQuery, signal),
          createRetryDelay(),
        );
        if (!found.ok) return toInternalFailure(execution.toApiError(found), found.endedBy);
        return { ok: true as const, results: chooseResults(found.hits, max_results) };
      };
      return recordInternal(recorder, STATUS, search, (error) =>
        log.error("search: an internal request failed", { request_id, error }),
      );
    },
  };
}

/** Returns how long to wait for an engine that cannot take the request; null: no longer. */
function createRetryDelay() {
  let leftMs = ENGINE_WAIT_MAX_MS;
  return (result: (SearchOutcome | UpstreamError) & CompletionStats): number | null => {
    if (result.ok || publicErrorCode(result.code) !== "service_unavailable") return null;
    const { retryAfterMs } = result;
    if (retryAfterMs === undefined || retryAfterMs > leftMs) return null;
    leftMs -= retryAfterMs;
    return retryAfterMs;
  };
}
