// SearXNG and Brave's web search as documented, with their errors and optional delays.

export interface AskedSearch {
  path: string;
  query: Record<string, string>;
  raw: string;
  headers: Headers;
  signal: AbortSignal;
}

export type SearchScript = (asked: AskedSearch) => Response | Promise<Response>;

export interface SearchServer {
  url: string;
  asked: AskedSearch[];
  /** Answers of the next requests; null answers like the real server. */
  script: SearchScript | null;
  /** The status of its /healthz, whose requests are not recorded. */
  health: number;
  looks: number;
  stop(): Promise<void>;
}

function startServer(base: string, path: string, answer: SearchScript): SearchServer {
  const asked: AskedSearch[] = [];
  const listener = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      const { pathname, searchParams, search } = new URL(request.url);
      if (pathname === "/healthz") {
        server.looks += 1;
        return new Response("OK", { status: server.health });
      }
      if (pathname !== base + path) return writeErrorPage(404, "Not Found");
      const one = {
        path: pathname,
        query: Object.fromEntries(searchParams),
        raw: search,
        headers: request.headers,
        signal: request.signal,
      };
      asked.push(one);
      return (server.script ?? answer)(one);
    },
  });
  const server: SearchServer = {
    url: `http://127.0.0.1:${listener.port}${base}`,
    asked,
    script: null,
    health: 200,
    looks: 0,
    stop: () => listener.stop(true),
  };
  return server;
}

/** The page that Flask writes when SearXNG aborts. */
export function writeErrorPage(status: number, title: string): Response {
  const html = `<!doctype html>\n<html lang=en>\n<title>${status} ${title}</title>\n<h1>${title}</h1>\n`;
  return new Response(html, { status, headers: { "content-type": "text/html; charset=utf-8" } });
}

export interface SearxngHit {
  title: unknown;
  url: unknown;
  content?: unknown;
}

/** A reply of SearXNG; `unresponsive` lists engines with their errors. */
export function writeSearxngReply(
  query: string,
  hits: readonly SearxngHit[],
  unresponsive: [name: string, why: string][] = [],
): Response {
  return Response.json({
    query,
    results: hits.map((hit, index) => ({
      ...hit,
      thumbnail: null,
      engine: "mojeek",
      template: "default.html",
      parsed_url: ["https", "example.org", "/", "", "", ""],
      img_src: "",
      priority: "",
      engines: ["mojeek"],
      positions: [index + 1],
      score: 1 / (index + 1),
      category: "general",
    })),
    answers: [],
    corrections: [],
    infoboxes: [],
    suggestions: ["another query"],
    unresponsive_engines: unresponsive,
  });
}

export const PAGES: readonly Required<SearxngHit>[] = Array.from({ length: 25 }, (_, n) => ({
  title: `Page ${n}`,
  url: `https://example.org/${n}`,
  content: `What page ${n} says.`,
}));

/** `formats` is its setting search.formats; with `is_limited` its limiter refuses requests. */
export function startSearxng({ formats = ["html", "json"], is_limited = false } = {}) {
  return startServer("", "/search", ({ query }) => {
    if (is_limited) return writeErrorPage(429, "Too Many Requests");
    const { q = "", format = "html", language = "all" } = query;
    if (!formats.includes(format)) return writeErrorPage(403, "Forbidden");
    if (format !== "json") return new Response("<!doctype html>", { status: 200 });
    if (q === "") return Response.json({ error: "No query" }, { status: 400 });
    if (!/^(all|auto|[a-z]{2,3}(-[a-zA-Z]{2})?)$/.test(language)) {
      const error = `Invalid value "${language}" for parameter language`;
      return Response.json({ error }, { status: 400 });
    }
    if (q.startsWith("!!")) return Response.redirect("https://elsewhere.example/?q=x", 302);
    return writeSearxngReply(q, PAGES);
  });
}

export const BRAVE_KEY = "brave-key-1";

const BRAVE_LANGUAGES =
  "ar eu bn bg ca zh-hans zh-hant hr cs da nl en en-gb et fi fr gl de el gu he hi hu is it jp kn " +
  "ko lv lt ms ml mr nb pl pt-br pt-pt pa ro ru sr sk sl es sv ta te th tr uk vi";

/** The limits of a plan with one request a second and fifteen thousand a month. */
export function writeLimits(remaining = "0, 14522", reset = "1, 1419704", limit = "1, 15000") {
  return {
    "x-ratelimit-limit": limit,
    "x-ratelimit-policy": "1;w=1, 15000;w=2592000",
    "x-ratelimit-remaining": remaining,
    "x-ratelimit-reset": reset,
  };
}

export function writeBraveError(
  status: number,
  code: string,
  meta: object = {},
  headers: Record<string, string> = writeLimits(),
): Response {
  const error = { id: "5d832250", status, code, detail: "Why it is refused.", meta };
  return Response.json({ type: "ErrorResponse", error, time: 1_663_072_993 }, { status, headers });
}

function refuseField(...loc: string[]): Response {
  const errors = [{ type: "value_error", loc, msg: "Value error", input: "what was sent" }];
  return writeBraveError(422, "VALIDATION", { component: "validation", errors });
}

export interface BraveHit {
  title: unknown;
  url: unknown;
  description?: unknown;
}

export function writeBraveReply(query: string, hits: readonly BraveHit[]): Response {
  const web = {
    type: "search",
    results: hits.map((hit) => ({
      ...hit,
      is_source_local: false,
      is_source_both: false,
      language: "en",
      family_friendly: true,
      type: "search_result",
      subtype: "generic",
      meta_url: { scheme: "https", netloc: "example.org", hostname: "example.org", path: "/" },
    })),
    family_friendly: true,
  };
  const mixed = { type: "mixed", main: [], top: [], side: [] };
  const found = hits.length > 0 ? { web } : {};
  const whole = { query: { original: query, more_results_available: true }, mixed, ...found };
  return Response.json({ type: "search", ...whole }, { headers: writeLimits() });
}

export function startBrave() {
  return startServer("/res/v1", "/web/search", ({ query, headers }) => {
    const key = headers.get("x-subscription-token");
    if (key === null) return refuseField("header", "x-subscription-token");
    if (key !== BRAVE_KEY) {
      return writeBraveError(422, "SUBSCRIPTION_TOKEN_INVALID", { component: "authentication" });
    }
    const { q = "", count = "20", search_lang = "en" } = query;
    const words = q.split(/\s+/).length;
    if (q === "" || [...q].length > 400 || words > 50) return refuseField("query", "q");
    if (!(Number(count) >= 1 && Number(count) <= 20)) return refuseField("query", "count");
    if (!BRAVE_LANGUAGES.split(" ").includes(search_lang)) {
      return refuseField("query", "search_lang");
    }
    const hits = PAGES.slice(0, Number(count)).map(({ title, url, content }) => ({
      title,
      url,
      description: content,
    }));
    return writeBraveReply(q, hits);
  });
}

/** Answers delayed until `release`; `met` settles when this many requests wait. */
export function holdAnswers(server: SearchServer) {
  const gate = Promise.withResolvers<void>();
  const before = server.asked.length;
  let waiting: { count: number; resolve(): void } | null = null;
  server.script = async ({ query }) => {
    const held = server.asked.length - before;
    if (waiting && held >= waiting.count) waiting.resolve();
    await gate.promise;
    return writeSearxngReply(query.q ?? "", PAGES);
  };
  return {
    met(count: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting = { count, resolve };
      if (server.asked.length - before >= count) resolve();
      return promise;
    },
    release() {
      server.script = null;
      gate.resolve();
    },
  };
}
