// Searches from inside the program: the service of POST /v1/search, its quota and its capacity,
// for who waits for its turn rather than be refused.
import { accountOf } from "../../access/index.ts";
import type { Meter } from "../../http/index.ts";
import type { Failure, Journey } from "../../models/index.ts";
import type { Log } from "../../platform/log.ts";
import { type Code, Refusal, refuse, shownCode } from "../../platform/refusal.ts";
import type { SearchSettings } from "../../platform/settings/index.ts";
import type { InsideCaller } from "../inside.ts";
import type { RequestTally } from "../ledger/tally.ts";
import { isStopped } from "../running.ts";
import { type AnsweringOptions, endAsking, timeWork } from "../shared/answering.ts";
import { nameShared, refuseShared } from "../shared/failure.ts";
import type { Found, SearchAsk, SearchEngine } from "./contract.ts";
import { chooseResults } from "./hits.ts";
import { type Result, STATUS } from "./reply.ts";

/** An engine that tells us to wait is waited for so long, in all. */
const ENGINE_WAIT_MAX_MS = 600_000;

export interface SearchFailure {
  ok: false;
  /** As a caller of the gateway would be shown it. */
  code: Code;
  /** What the caller would be told: our own sentence. */
  why: string;
  /** The program stops, and nothing else went wrong: whoever comes back may ask again. */
  is_stopped?: true;
}

export interface SearchInside {
  /** Waits for quota and capacity; an aborted signal is `client_closed_request`. */
  ask(
    who: InsideCaller,
    wish: Pick<SearchAsk, "query" | "max_results" | "language">,
    signal: AbortSignal,
  ): Promise<{ ok: true; results: Result[] } | SearchFailure>;
}

export interface SearchInsideOptions extends AnsweringOptions<SearchSettings, SearchEngine> {
  meter: Meter<RequestTally>;
  log: Log;
}

export function createSearchInside(options: SearchInsideOptions): SearchInside {
  const { service, clock, log, meter, who: engine, writeHeaders } = options;
  return {
    async ask(who, { query, max_results, language }, signal) {
      const { caller, request_id, trace } = who;
      const asked_at = clock.monotonic();
      const tally = meter.open({ ...who, started_at: asked_at });
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
        const ending = await endAsking({ ...who, tally }, asking, options);
        if (!ending.ok) {
          const failure = writeFailure(refuseShared(ending, engine, writeHeaders));
          if (isStopped(ending)) failure.is_stopped = true;
          tally.close(refuse(failure.code).status, failure.code, 0);
          return failure;
        }
        tally.close(STATUS, null, 0);
        return { ok: true, results: chooseResults(ending.hits, max_results) };
      } catch (failure) {
        if (failure instanceof Refusal) {
          const refused = writeFailure(failure);
          tally.close(failure.status, refused.code, 0);
          return refused;
        }
        log.error("a search from inside failed", { request_id, error: failure });
        tally.close(refuse("internal_error").status, "internal_error", 0);
        throw failure;
      }
    },
  };
}

/** How long an engine is waited for that cannot take the request now; null: no longer. */
function createPatience() {
  let left_ms = ENGINE_WAIT_MAX_MS;
  return (ending: (Found | Failure) & Journey): number | null => {
    if (ending.ok || nameShared(ending.code) !== "service_unavailable") return null;
    const { retry_after_ms } = ending;
    if (retry_after_ms === undefined || retry_after_ms > left_ms) return null;
    left_ms -= retry_after_ms;
    return retry_after_ms;
  };
}

function writeFailure(refusal: Refusal): SearchFailure {
  const code = shownCode(refusal.code, "gateway") as Code;
  return { ok: false, code, why: refusal.message };
}
