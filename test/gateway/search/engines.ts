// A search engine client with a scripted server, without the app.

import { openSearchEngine } from "../../../src/gateway/search/backend.ts";
import type { EngineQuery, SearchEngine } from "../../../src/gateway/search/contract.ts";
import { createTrustedEgress } from "../../../src/net/index.ts";
import { createLog } from "../../../src/platform/log.ts";
import { readSettings } from "../../../src/settings/index.ts";
import { createManualClock, type ManualClock } from "../../support/clock.ts";

export interface EngineTest extends AsyncDisposable {
  engine: SearchEngine;
  clock: ManualClock;
  /** Every line of the log, parsed. */
  lines: Record<string, unknown>[];
  search(query: string, some?: Partial<EngineQuery>, signal?: AbortSignal): Search;
}
type Search = ReturnType<SearchEngine["search"]>;

/** `table` has the lines of `[search]`; the variable KEY has its key. */
export function openTestEngine(table: string, key = "key-1"): EngineTest {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog(clock, (line) => lines.push(JSON.parse(line)), false);
  const egress = createTrustedEgress({ clock });
  const { search } = readSettings(`[search]\n${table}`, "wadi.toml", { KEY: key }, {});
  const engine = openSearchEngine(search, { egress, clock, log })!;
  return {
    engine,
    clock,
    lines,
    search: (query, some = {}, signal = new AbortController().signal) =>
      engine.search(
        {
          request_id: "019aa7e4-2c00-7000-8000-0123456789ab",
          trace: null,
          account: "account-1",
          query,
          max_results: 5,
          language: null,
          ...some,
        },
        signal,
      ),
    async [Symbol.asyncDispose]() {
      engine.stop();
      egress.close();
    },
  };
}

/** The outcome of a search: its hits, or its code and the operator's reason. */
export async function outcomeOf(search: Search) {
  const reply = await search;
  if (reply.ok) return reply.hits;
  const { code, reason, upstreamStatus, retryAfterMs } = reply;
  return { code, reason, upstreamStatus, retryAfterMs };
}
