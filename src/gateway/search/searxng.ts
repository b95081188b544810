// SearXNG, which asks other search engines: its JSON format and its errors.
import { writeRequestHeaders } from "../../models/index.ts";
import type { SearchSettings } from "../../settings/index.ts";
import { classifyStatus, type EngineKind, engineError, readHitList } from "./engine.ts";

const REFUSED =
  "it turns us away: its search.formats must name json, and its limiter must let our address pass";

const REASONS: Readonly<Record<number, string>> = {
  // An external bang in the query redirects, too.
  302: "it redirects us: its address is another, or the query is for another site",
  400: "it refuses the query",
  403: REFUSED,
  404: "it knows no /search at this address",
  429: "its limiter turns us away: it must let our address pass",
};

export function createSearxng({ url, api_key }: SearchSettings): EngineKind {
  return {
    url,
    path: "/search",
    // SearXNG knows no keys, but a proxy in front of it may.
    headers: api_key === null ? {} : { authorization: `Bearer ${api_key}` },
    health: "/healthz",
    writeQuery({ query, language }) {
      // The filter for safe search stays as it is set there.
      return { q: query, format: "json", ...(language !== null && { language }) };
    },
    writeHeaders: writeRequestHeaders,
    readHits({ results, unresponsive_engines }) {
      const hits = readHitList(results, "content");
      if (!hits) return engineError("upstream_error", "its reply has no results", 200);
      const isUnanswered = Array.isArray(unresponsive_engines) && unresponsive_engines.length > 0;
      if (hits.length > 0 || !isUnanswered) return hits;
      // gateway.errors.upstream_error: an empty list would not be true.
      return engineError(
        "upstream_error",
        "none of the engines behind it answered with a hit",
        200,
      );
    },
    classifyError: ({ status }) => classifyStatus(status, REASONS),
  };
}
