// What a search engine is asked and what it finds.
import type { Failure, Journey } from "../../models/index.ts";
import type { Trace } from "../../platform/trace.ts";
import type { SharedSupply } from "../shared/service.ts";

export interface SearchAsk {
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
export interface Hit {
  title: string;
  url: string;
  snippet: string;
}

export interface Found {
  ok: true;
  /** The best first; perhaps more than were asked for. */
  hits: Hit[];
}

export type Search = (ask: SearchAsk, signal: AbortSignal) => Promise<(Found | Failure) & Journey>;

/** What stands behind the route. */
export interface SearchEngine extends SharedSupply {
  search: Search;
}
