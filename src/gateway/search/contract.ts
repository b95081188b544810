// The interface of a search engine: its query and its hits.
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
  /** Two lower-case letters (ISO 639-1); null: any. */
  language: string | null;
}

/** A hit in the engine's own words; `results.ts` decides what reaches a caller. */
export interface SearchHit {
  title: string;
  url: string;
  snippet: string;
}

export interface SearchOutcome {
  ok: true;
  /** The best first; there may be more than were asked for. */
  hits: SearchHit[];
}

export type Search = (
  query: EngineQuery,
  signal: AbortSignal,
) => Promise<(SearchOutcome | UpstreamError) & CompletionStats>;

export interface SearchEngine extends MeteredBackend {
  search: Search;
}
