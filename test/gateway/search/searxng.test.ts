// Tests the requests to SearXNG, and the handling of its replies.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  PAGES,
  type SearchServer,
  startSearxng,
  writeErrorPage,
  writeSearxngReply,
} from "../../support/search-servers.ts";
import { type EngineTest, openTestEngine, outcomeOf } from "./engines.ts";

let server: SearchServer;
let own: EngineTest;
const open = (lines = "") => openTestEngine(`kind = "searxng"\nurl = "${server.url}"\n${lines}`);
beforeEach(() => {
  server = startSearxng();
  own = open();
});
afterEach(async () => {
  await own[Symbol.asyncDispose]();
  await server.stop();
});

describe("the query", () => {
  test("is a GET for JSON, whatever its text", async () => {
    const query = `a+b & c=d #1 100% "ü" 😀\n/?;${String.fromCharCode(0)}`;
    expect((await own.search(query)).ok).toBe(true);
    const [asked] = server.asked;
    expect(asked!.query).toEqual({ q: query, format: "json" });
    expect(asked!.raw).toMatch(/^\?[\w%=&.*-]+$/);
    expect(asked!.raw).not.toContain("+");
    const { headers } = asked!;
    expect(headers.get("accept")).toBe("application/json");
    expect(headers.get("accept-encoding")).toBe("identity");
    expect(headers.get("user-agent")).toBe("wadi");
    expect(headers.get("x-request-id")).toBe("019aa7e4-2c00-7000-8000-0123456789ab");
    expect(headers.get("authorization")).toBeNull();
    expect(headers.get("content-type")).toBeNull();
  });

  test("names the requested language", async () => {
    await own.search("x", { language: "fr" });
    expect(server.asked[0]!.query).toEqual({ q: "x", format: "json", language: "fr" });
  });

  test("carries the trace, the operator's headers and the key of a reverse proxy", async () => {
    await using other = open('api_key_env = "KEY"\nheaders = { "X-Own" = "1", User-Agent = "us" }');
    const trace = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` };
    await other.search("x", { trace });
    const { headers } = server.asked[0]!;
    expect(headers.get("authorization")).toBe("Bearer key-1");
    expect(headers.get("x-own")).toBe("1");
    expect(headers.get("user-agent")).toBe("us");
    expect(headers.get("traceparent")).toBe(trace.traceparent);
  });

  test("with half a surrogate pair is sent with a replacement character", async () => {
    await own.search("a\ud800b");
    expect(server.asked[0]!.query.q).toBe("a\ufffdb");
  });

  test("uses the path of the configured URL", async () => {
    await using other = openTestEngine(`kind = "searxng"\nurl = "${server.url}/searxng/"`);
    // The path does not exist, and no other is tried.
    expect(await outcomeOf(other.search("x"))).toMatchObject({
      code: "model_unavailable",
      upstreamStatus: 404,
    });
    expect(server.asked).toEqual([]);
  });
});

describe("the reply", () => {
  test("is returned as hits", async () => {
    const found = await own.search("x");
    expect(found).toMatchObject({ ok: true, attempts: 1 });
    expect(await outcomeOf(own.search("x"))).toEqual(
      PAGES.map(({ title, url, content }) => ({ title, url, snippet: content }) as never),
    );
  });

  test("is empty if no engine found anything", async () => {
    server.script = ({ query }) => writeSearxngReply(query.q!, []);
    expect(await outcomeOf(own.search("x"))).toEqual([]);
  });

  test("is a failure if it is empty because engines did not answer", async () => {
    server.script = ({ query }) =>
      writeSearxngReply(query.q!, [], [["brave", "Suspended: too many requests"]]);
    expect(await outcomeOf(own.search("x"))).toMatchObject({ code: "upstream_error" });
    server.script = ({ query }) =>
      writeSearxngReply(query.q!, PAGES.slice(0, 1), [["brave", "timeout"]]);
    expect(await outcomeOf(own.search("x"))).toHaveLength(1);
  });

  test("may have missing fields or fields of the wrong type", async () => {
    server.script = () =>
      Response.json({ results: [{ url: "https://a.example" }, null, 7, { title: {}, url: [] }] });
    expect(await outcomeOf(own.search("x"))).toEqual([
      { title: "", url: "https://a.example", snippet: "" },
      { title: "", url: "", snippet: "" },
      { title: "", url: "", snippet: "" },
      { title: "", url: "", snippet: "" },
    ]);
  });

  const NONSENSE: [title: string, answer: () => Response][] = [
    ["a page", () => new Response("<!doctype html><p>x", { status: 200 })],
    ["nothing", () => new Response("")],
    ["a list", () => Response.json([])],
    ["null", () => Response.json(null)],
    ["no results", () => Response.json({ query: "x" })],
    ["results of another form", () => Response.json({ results: { 0: {} } })],
    ["half a document", () => new Response('{"results": [')],
    ["more than four megabytes", () => Response.json({ results: ["x".repeat(5_000_000)] })],
    ["an unknown error", () => Response.json({ error: "search error" })],
  ];
  for (const [title, answer] of NONSENSE) {
    test(`is a failure if it is ${title}`, async () => {
      server.script = answer;
      expect(await outcomeOf(own.search("x"))).toMatchObject({
        code: "upstream_error",
        upstreamStatus: 200,
      });
    });
  }
});

describe("its errors", () => {
  test("a server without JSON refuses, and the operator gets advice", async () => {
    const plain = startSearxng({ formats: ["html"] });
    await using other = openTestEngine(`kind = "searxng"\nurl = "${plain.url}"`);
    const reply = await outcomeOf(other.search("x"));
    expect(reply).toMatchObject({ code: "model_unavailable", upstreamStatus: 403 });
    expect(reply).toMatchObject({
      reason: expect.stringContaining("search.formats must name json"),
    });
    await plain.stop();
  });

  test("its limiter gives no time, so the next request is tried", async () => {
    server.script = () => writeErrorPage(429, "Too Many Requests");
    const reply = await outcomeOf(own.search("x"));
    expect(reply).toMatchObject({ code: "upstream_rate_limited", retryAfterMs: undefined });
    expect(reply).toMatchObject({ reason: expect.stringContaining("limiter") });
    server.script = null;
    expect((await own.search("x")).ok).toBe(true);
  });

  test("a bang to another site is not followed", async () => {
    expect(await outcomeOf(own.search("!!g x"))).toMatchObject({
      code: "upstream_error",
      upstreamStatus: 302,
    });
    expect(server.asked).toHaveLength(1);
  });

  const CODES: [status: number, code: string][] = [
    [301, "upstream_error"],
    [308, "upstream_error"],
    [400, "upstream_error"],
    [401, "model_unavailable"],
    [403, "model_unavailable"],
    [404, "model_unavailable"],
    [408, "upstream_timeout"],
    [418, "upstream_error"],
    [500, "upstream_error"],
    [502, "upstream_error"],
    [503, "upstream_rate_limited"],
    [504, "upstream_timeout"],
  ];
  for (const [status, code] of CODES) {
    test(`${status} is ${code}, in our own words`, async () => {
      server.script = () => writeErrorPage(status, "Words of theirs");
      const reply = (await outcomeOf(own.search("x"))) as { reason: string };
      expect(reply).toMatchObject({ code, upstreamStatus: status });
      expect(reply.reason).not.toMatch(/theirs|127\.0\.0\.1/);
    });
  }
});

describe("a Retry-After", () => {
  for (const status of [429, 503]) {
    test(`with ${status} blocks requests until its time`, async () => {
      server.script = () => new Response("", { status, headers: { "retry-after": "90" } });
      expect(await own.search("x")).toMatchObject({
        code: "upstream_rate_limited",
        retryAfterMs: 90_000,
        attempts: 1,
      });
      server.script = null;
      expect(own.engine.isDown()).toBe(true);
      await own.clock.advance(29_999);
      expect(own.engine.isDown()).toBe(true);
      await own.clock.advance(1);
      expect(own.engine.isDown()).toBe(false);
      await own.clock.advance(59_000);
      expect(await own.search("x")).toMatchObject({ retryAfterMs: 1_000, attempts: 0 });
      expect(server.asked).toHaveLength(1);
      await own.clock.advance(1_000);
      expect((await own.search("x")).ok).toBe(true);
    });
  }

  test("with any other status is ignored", async () => {
    server.script = () => new Response("", { status: 500, headers: { "retry-after": "90" } });
    expect(await outcomeOf(own.search("x"))).toMatchObject({ retryAfterMs: undefined });
    expect(own.engine.isDown()).toBe(false);
  });
});

describe("failures that count against it", () => {
  test.each<[status: number, isCounted: boolean]>([
    [500, true],
    [502, true],
    // It refuses every request.
    [403, true],
    // A query may have caused these.
    [400, false],
    [414, false],
  ])("of status %d again and again: %p", async (status, isCounted) => {
    server.script = () => writeErrorPage(status, "No");
    for (let n = 0; n < 6; n++) await own.search("x");
    const message = "replica: repeated failures, others are asked first";
    expect(own.lines.map((line) => line.message)).toEqual(isCounted ? [message] : []);
    // There is no other engine.
    expect(server.asked).toHaveLength(6);
  });
});

describe("its health", () => {
  test("is checked every ten seconds while it is healthy", async () => {
    own.engine.start();
    const wait = async (count: number) => {
      while (server.looks < count) await own.clock.advance(0);
    };
    await wait(1);
    await own.clock.advance(9_999);
    expect(server.looks).toBe(1);
    await own.clock.advance(1);
    await wait(2);
  });

  test("is checked at once after a search without a response", async () => {
    await using other = open('timeout = "3s"');
    other.engine.start();
    while (server.looks < 1) await other.clock.advance(0);
    await other.clock.advance(5_000);
    server.script = () => new Promise<Response>(() => undefined);
    const asked = other.search("x");
    while (server.asked.length === 0) await other.clock.advance(0);
    await other.clock.advance(3_000);
    expect(await outcomeOf(asked)).toMatchObject({ code: "upstream_timeout" });
    while (server.looks < 2) await other.clock.advance(0);
  });

  test("is checked from the start: down while it is unhealthy, up again when it is healthy", async () => {
    server.health = 500;
    own.engine.start();
    const until = async (isDown: boolean) => {
      while (own.engine.isDown() !== isDown) await own.clock.advance(1_000);
    };
    await until(true);
    expect(await outcomeOf(own.search("x"))).toMatchObject({ code: "model_offline" });
    expect(server.asked).toEqual([]);
    server.health = 200;
    await until(false);
    expect((await own.search("x")).ok).toBe(true);
    const upstream = new URL(server.url).host;
    const what = "search engine";
    expect(own.lines).toMatchObject([
      { level: "warn", message: "replica: not healthy, no longer asked", what, upstream },
      { level: "info", message: "replica: healthy again", what, upstream },
    ]);
    expect(own.lines[0]).not.toHaveProperty("model");
  });
});

test("a caller who leaves aborts the request at once", async () => {
  const met = Promise.withResolvers<AbortSignal>();
  server.script = ({ signal }) => {
    met.resolve(signal);
    return new Promise<Response>(() => undefined);
  };
  const leaving = new AbortController();
  const asked = own.search("x", {}, leaving.signal);
  const connection = await met.promise;
  const gone = new Promise((resolve) => connection.addEventListener("abort", resolve));
  leaving.abort();
  expect(await outcomeOf(asked)).toMatchObject({ code: "client_closed_request" });
  await gone;
});

test("a reply leaves only the timer of its kept connection", async () => {
  for (let n = 0; n < 3; n++) {
    expect((await own.search("x")).ok).toBe(true);
    expect(own.clock.pending()).toBe(2);
  }
});

test("a reply has at most four megabytes", async () => {
  const writeReply = (bytes: number) => {
    const [head, tail] = ['{"results":[{"title":"', '","url":"https://a.example/"}]}'];
    return new Response(head + "x".repeat(bytes - head.length - tail.length) + tail);
  };
  server.script = () => writeReply(4 * 1024 * 1024);
  expect((await own.search("x")).ok).toBe(true);
  server.script = () => writeReply(4 * 1024 * 1024 + 1);
  expect(await outcomeOf(own.search("x"))).toMatchObject({ code: "upstream_error" });
});

test("the timeout covers the whole reply", async () => {
  server.script = () => new Promise<Response>(() => undefined);
  const asked = own.search("x");
  while (server.asked.length === 0) await own.clock.advance(0);
  await own.clock.advance(14_999);
  expect(Bun.peek.status(asked)).toBe("pending");
  await own.clock.advance(1);
  expect(await outcomeOf(asked)).toMatchObject({ code: "upstream_timeout" });
});
