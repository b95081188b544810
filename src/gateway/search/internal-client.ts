// Unlike POST /v1/search, internal searches wait instead of refusing.
import { accountOf } from "../../access/index.ts";
import type { RecorderFactory } from "../../http/index.ts";
import type { CompletionStats, UpstreamError } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { ApiError, apiError, type ErrorCode, publicCode } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { SearchSettings } from "../../settings/index.ts";
import { type MeteredExecution, publicErrorCode } from "../metered/execution.ts";
import type { GatewayRecorder, InternalCaller } from "../request-log/recorder.ts";
import type { EngineQuery, SearchEngine, SearchOutcome } from "./contract.ts";
import { chooseResults } from "./results.ts";
import { type SearchResult, STATUS } from "./schema.ts";

/** Maximum total wait for an engine that asks for a pause. */
const ENGINE_WAIT_MAX_MS = 600_000;

export interface SearchFailure {
  ok: false;
  /** The code and the sentence that a caller of the gateway would get. */
  code: ErrorCode;
  reason: string;
  /** The stop of the program ended it; the search can be repeated. */
  is_stopped?: true;
}

export interface InternalSearchClient {
  ask(
    who: InternalCaller,
    query: Pick<EngineQuery, "query" | "max_results" | "language">,
    signal: AbortSignal,
  ): Promise<{ ok: true; results: SearchResult[] } | SearchFailure>;
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
      try {
        const found = await execution.run(
          { ...who, recorder, signal },
          (engine) => engine.search(engineQuery, signal),
          createRetryDelay(),
        );
        if (found.ok) {
          recorder.close(STATUS, null, 0);
          return { ok: true, results: chooseResults(found.hits, max_results) };
        }
        const failure = toFailure(execution.toApiError(found));
        if (found.endedBy === "stop") failure.is_stopped = true;
        recorder.close(apiError(failure.code).status, failure.code, 0);
        return failure;
      } catch (error) {
        if (error instanceof ApiError) {
          const failure = toFailure(error);
          recorder.close(error.status, failure.code, 0);
          return failure;
        }
        log.error("search: an internal request failed", { request_id, error });
        recorder.close(apiError("internal_error").status, "internal_error", 0);
        throw error;
      }
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

function toFailure(error: ApiError): SearchFailure {
  const code = publicCode(error.code, "gateway") as ErrorCode;
  return { ok: false, code, reason: error.message };
}
