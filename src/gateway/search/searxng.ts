// Asks SearXNG, which asks other search engines: its JSON format, and what its errors mean.
import { writeRequestHeaders } from "../../models/index.ts";
import type { SearchSettings } from "../../settings/index.ts";
import { type EngineKind, fail, judgeStatus, readHitList } from "./engine.ts";

const REFUSED =
  "it turns us away: its search.formats must name json, and its limiter must let our address pass";

/** What the operator can do about it; a name is never given away by that. */
const WHYS: Readonly<Record<number, string>> = {
  // An external bang in the query leads away too: that is the caller's own doing.
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
    // It knows no keys itself; what stands in front of it may.
    headers: api_key === null ? {} : { authorization: `Bearer ${api_key}` },
    health: "/healthz",
    writeQuery({ query, language }) {
      // How safe a search is stays what its operator has set there.
      return { q: query, format: "json", ...(language !== null && { language }) };
    },
    writeHeaders: writeRequestHeaders,
    readHits({ results, unresponsive_engines }) {
      const hits = readHitList(results, "content");
      if (!hits) return fail("upstream_error", "its reply has no results", 200);
      const isUnanswered = Array.isArray(unresponsive_engines) && unresponsive_engines.length > 0;
      if (hits.length > 0 || !isUnanswered) return hits;
      // gateway.errors.upstream_error: that nothing was found would not be true.
      return fail("upstream_error", "none of the engines behind it answered with a hit", 200);
    },
    judgeError: ({ status }) => judgeStatus(status, WHYS),
  };
}
