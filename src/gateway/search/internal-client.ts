// Searches from inside the program: the service of POST /v1/search, its quota and its capacity,
// for who waits for its turn rather than be refused.
import { accountOf } from "../../access/index.ts";
import type { RecorderFactory } from "../../http/index.ts";
import type { CompletionStats, UpstreamError } from "../../models/index.ts";
import { ApiError, apiError, type ErrorCode, publicCode } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { SearchSettings } from "../../settings/index.ts";
import { isStopped } from "../in-flight.ts";
import type { InternalCaller } from "../internal-caller.ts";
import { meteredError, nameShared } from "../metered/failure.ts";
import { type MeteredHandlerOptions, recordResult, timeWork } from "../metered/handler.ts";
import type { GatewayRecorder } from "../request-log/recorder.ts";
import type { EngineQuery, SearchEngine, SearchOutcome } from "./contract.ts";
import { chooseResults } from "./hits.ts";
import { type Result, STATUS } from "./reply.ts";

/** An engine that tells us to wait is waited for so long, in all. */
const ENGINE_WAIT_MAX_MS = 600_000;

export interface SearchFailure {
  ok: false;
  /** As a caller of the gateway would be shown it. */
  code: ErrorCode;
  /** What the caller would be told: our own sentence. */
  why: string;
  /** The program stops, and nothing else went wrong: whoever comes back may ask again. */
  is_stopped?: true;
}

export interface InternalSearchClient {
  /** Waits for quota and capacity; an aborted signal is `client_closed_request`. */
  ask(
    who: InternalCaller,
    wish: Pick<EngineQuery, "query" | "max_results" | "language">,
    signal: AbortSignal,
  ): Promise<{ ok: true; results: Result[] } | SearchFailure>;
}

export interface InternalSearchOptions extends MeteredHandlerOptions<SearchSettings, SearchEngine> {
  meter: RecorderFactory<GatewayRecorder>;
  log: Log;
}

export function createInternalSearchClient(options: InternalSearchOptions): InternalSearchClient {
  const { service, clock, log, meter, who: engine, writeHeaders } = options;
  return {
    async ask(who, { query, max_results, language }, signal) {
      const { caller, request_id, trace } = who;
      const asked_at = clock.monotonic();
      const recorder = meter.open({ ...who, started_at: asked_at });
      const ask = { request_id, trace, account: accountOf(caller), query, max_results, language };
      let attempts = 0;
      const work = async ({ search }: SearchEngine) => {
        const ending = await timeWork(clock, asked_at, () => search(ask, signal));
        if (ending.attempts !== undefined) {
          // Those before a wait too.
          attempts += ending.attempts;
          ending.attempts = attempts;
        }
        return ending;
      };
      try {
        const asking = service.usePatiently(caller, signal, work, createPatience());
        const ending = await recordResult({ ...who, recorder }, asking, options);
        if (!ending.ok) {
          const failure = writeFailure(meteredError(ending, engine, writeHeaders));
          if (isStopped(ending)) failure.is_stopped = true;
          recorder.close(apiError(failure.code).status, failure.code, 0);
          return failure;
        }
        recorder.close(STATUS, null, 0);
        return { ok: true, results: chooseResults(ending.hits, max_results) };
      } catch (failure) {
        if (failure instanceof ApiError) {
          const refused = writeFailure(failure);
          recorder.close(failure.status, refused.code, 0);
          return refused;
        }
        log.error("a search from inside failed", { request_id, error: failure });
        recorder.close(apiError("internal_error").status, "internal_error", 0);
        throw failure;
      }
    },
  };
}

/** How long an engine is waited for that cannot take the request now; null: no longer. */
function createPatience() {
  let left_ms = ENGINE_WAIT_MAX_MS;
  return (ending: (SearchOutcome | UpstreamError) & CompletionStats): number | null => {
    if (ending.ok || nameShared(ending.code) !== "service_unavailable") return null;
    const { retryAfterMs: retry_after_ms } = ending;
    if (retry_after_ms === undefined || retry_after_ms > left_ms) return null;
    left_ms -= retry_after_ms;
    return retry_after_ms;
  };
}

function writeFailure(refusal: ApiError): SearchFailure {
  const code = publicCode(refusal.code, "gateway") as ErrorCode;
  return { ok: false, code, why: refusal.message };
}
