// What a search engine is asked and what it finds.
import type { CompletionStats, UpstreamError } from "../../models/index.ts";
import type { Trace } from "../../platform/trace.ts";
import type { MeteredBackend } from "../metered/service.ts";

export interface EngineQuery {
  request_id: string;
  trace: Trace | null;
  account: string;
  /** 1 to 400 characters, not only spaces. */
  query: string;
  /** 1 to 20. */
  max_results: number;
  /** Two small letters (ISO 639-1); null: any. */
  language: string | null;
}

/** As the engine tells it: what of it reaches a caller is judged behind it. */
export interface SearchHit {
  title: string;
  url: string;
  snippet: string;
}

export interface SearchOutcome {
  ok: true;
  /** The best first; perhaps more than were asked for. */
  hits: SearchHit[];
}

export type Search = (
  ask: EngineQuery,
  signal: AbortSignal,
) => Promise<(SearchOutcome | UpstreamError) & CompletionStats>;

/** What stands behind the route. */
export interface SearchEngine extends MeteredBackend {
  search: Search;
}
